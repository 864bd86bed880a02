//! A small dense matrix for Hessians and covariances.

/// A square matrix, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    size: usize,
    values: Vec<f64>,
}

impl Matrix {
    pub(crate) fn zeros(size: usize) -> Self {
        Self { size, values: vec![0.0; size * size] }
    }

    /// Number of rows and of columns.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The entry in a row and a column, if there is one.
    pub fn get(&self, row: usize, column: usize) -> Option<f64> {
        if column < self.size { self.row(row).map(|row| row[column]) } else { None }
    }

    /// A row, if there is one.
    pub fn row(&self, row: usize) -> Option<&[f64]> {
        self.values.get(row.checked_mul(self.size)?..)?.get(..self.size)
    }

    /// All entries, row by row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    pub(crate) fn at(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.values[row * self.size + column]
    }
}

/// Lower factor of a small positive definite matrix, in place.
pub(crate) fn cholesky(matrix: &mut [Vec<f64>]) -> Option<&[Vec<f64>]> {
    let d = matrix.len();
    for j in 0..d {
        for k in 0..j {
            let x = matrix[j][k];
            for row in &mut matrix[j..] {
                row[j] -= x * row[k];
            }
        }
        let pivot = matrix[j][j];
        if !(pivot > 0.0) {
            return None;
        }
        let root = pivot.sqrt();
        for row in matrix.iter_mut().skip(j) {
            row[j] /= root;
        }
    }
    Some(matrix)
}
