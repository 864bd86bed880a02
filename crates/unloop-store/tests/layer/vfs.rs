//! The layer as SQLite sees it: a VFS that has the system's own do everything that the layer does not forbid.
//!
//! The only unsafe code of the tests. A file of the layer is [`Opened`] with the system's own file right behind it, in memory that
//! SQLite makes as large as `szOsFile` says and that stays where it is until `xClose`.
#![allow(unsafe_code, clippy::cast_possible_wrap, reason = "SQLite is C, and has lengths as it likes")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs};

use super::{State, lock};

/// A file of the layer.
#[repr(C)]
struct Opened {
    /// First: SQLite takes it for the whole.
    base: sqlite3_file,
    state: &'static Mutex<State>,
    /// Its number; none for files without a name, which no crash leaves behind.
    number: Option<usize>,
    /// Whether its folder is flushed with it the next time, as the system's own does after it has opened a journal.
    flushes_folder: bool,
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 3,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock_file),
    xUnlock: Some(unlock_file),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: Some(fetch),
    xUnfetch: Some(unfetch),
};

/// Registers a layer under a name of its own; it stays as long as the process does, as SQLite keeps a pointer to it.
pub(super) fn register() -> (&'static str, &'static Mutex<State>) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("layer-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let state: &'static Mutex<State> = Box::leak(Box::default());
    let own_name = CString::new(name.clone()).expect("no zeros").into_raw();
    // SAFETY: the system's own VFS is there for as long as the process, and nobody changes it.
    let below = unsafe { *system() };
    let vfs = Box::leak(Box::new(sqlite3_vfs {
        iVersion: 2,
        szOsFile: size_of::<Opened>() as c_int + below.szOsFile,
        pNext: ptr::null_mut(),
        zName: own_name,
        pAppData: ptr::from_ref(state).cast_mut().cast(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        // The rest has nothing to do with files, and the system's own do not look at which VFS they are called for.
        ..below
    }));
    // SAFETY: the structure and all that it points to are never freed, and its functions keep to SQLite's rules.
    let code = unsafe { ffi::sqlite3_vfs_register(vfs, 0) };
    assert_eq!(code, ffi::SQLITE_OK, "{name} is registered");
    (Box::leak(name.into_boxed_str()), state)
}

/// The system's own VFS: no layer is ever made the default.
fn system() -> *mut sqlite3_vfs {
    // SAFETY: may be called at any time from any thread; a null name asks for the default.
    unsafe { ffi::sqlite3_vfs_find(ptr::null()) }
}

/// The layer that a VFS of ours belongs to.
///
/// # Safety
/// The VFS is one that [`register`] made.
unsafe fn state_of(vfs: *mut sqlite3_vfs) -> &'static Mutex<State> {
    // SAFETY: `register` put a pointer to a leaked state there.
    unsafe { &*(*vfs).pAppData.cast::<Mutex<State>>() }
}

/// What is ours of a file, and the system's own behind it.
///
/// # Safety
/// The file is one that [`open`] opened and that is not closed.
unsafe fn parts(file: *mut sqlite3_file) -> (&'static Mutex<State>, Option<usize>, *mut sqlite3_file) {
    let opened = file.cast::<Opened>();
    // SAFETY: `open` has written it; what lies behind it belongs to the same allocation, of `szOsFile` bytes.
    unsafe { ((*opened).state, (*opened).number, opened.add(1).cast()) }
}

/// Calls a method of the system's own file.
macro_rules! below {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        let file: *mut sqlite3_file = $file;
        // SAFETY: the system's VFS opened it, so its methods are there; arguments are as SQLite gave them.
        unsafe { (*(*file).pMethods).$method.expect("the system's VFS has every method")(file $(, $argument)*) }
    }};
}

/// Methods that the layer has nothing to do with.
macro_rules! passed_on {
    ($($name:ident, $method:ident($($argument:ident: $kind:ty),*) $(-> $answer:ty)?;)*) => {$(
        unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $argument: $kind)*) $(-> $answer)? {
            // SAFETY: SQLite calls it with a file that is open.
            let (_, _, real) = unsafe { parts(file) };
            below!(real, $method $(, $argument)*)
        }
    )*};
}

passed_on! {
    // Locks are let go of even in the dark: another thread may wait for them.
    unlock_file, xUnlock(level: c_int) -> c_int;
    check_reserved_lock, xCheckReservedLock(answer: *mut c_int) -> c_int;
    file_control, xFileControl(operation: c_int, argument: *mut c_void) -> c_int;
    sector_size, xSectorSize() -> c_int;
    device_characteristics, xDeviceCharacteristics() -> c_int;
    shm_lock, xShmLock(offset: c_int, count: c_int, flags: c_int) -> c_int;
    shm_barrier, xShmBarrier();
    shm_unmap, xShmUnmap(delete: c_int) -> c_int;
}

/// Methods that the layer has nothing to do with, as long as there is power.
macro_rules! passed_on_with_power {
    ($($name:ident, $method:ident($($argument:ident: $kind:ty),*), $failure:ident;)*) => {$(
        unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $argument: $kind)*) -> c_int {
            // SAFETY: SQLite calls it with a file that is open.
            let (state, _, real) = unsafe { parts(file) };
            // Asked and let go of: these may wait for other files.
            if lock(state).is_dark() { ffi::$failure } else { below!(real, $method $(, $argument)*) }
        }
    )*};
}

passed_on_with_power! {
    read, xRead(into: *mut c_void, count: c_int, offset: sqlite3_int64), SQLITE_IOERR_READ;
    file_size, xFileSize(size: *mut sqlite3_int64), SQLITE_IOERR_FSTAT;
    lock_file, xLock(level: c_int), SQLITE_IOERR_LOCK;
    shm_map, xShmMap(region: c_int, size: c_int, extend: c_int, into: *mut *mut c_void), SQLITE_IOERR_SHMMAP;
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite calls it with a file that is open, once. Nothing of ours needs to be dropped.
    let (_, _, real) = unsafe { parts(file) };
    below!(real, xClose)
}

unsafe extern "C" fn write(file: *mut sqlite3_file, from: *const c_void, count: c_int, offset: sqlite3_int64) -> c_int {
    // SAFETY: SQLite calls it with a file that is open.
    let (state, number, real) = unsafe { parts(file) };
    let Some(number) = number else { return below!(real, xWrite, from, count, offset) };
    // SAFETY: SQLite gives so many bytes, and does not change them during the call.
    let bytes = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), count as usize) };
    // Held while it is written: what is noted is in the order in which it happened.
    lock(state)
        .write(number, offset as u64, bytes, |part| below!(real, xWrite, part.as_ptr().cast(), part.len() as c_int, offset))
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    // SAFETY: SQLite calls it with a file that is open.
    let (state, number, real) = unsafe { parts(file) };
    let Some(number) = number else { return below!(real, xTruncate, size) };
    lock(state).truncate(number, size as u64, || below!(real, xTruncate, size))
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: SQLite calls it with a file that is open.
    let (state, number, _) = unsafe { parts(file) };
    let Some(number) = number else { return ffi::SQLITE_OK };
    let opened = file.cast::<Opened>();
    // SAFETY: as above; SQLite uses a file from one thread at a time.
    let code = lock(state).sync(number, unsafe { (*opened).flushes_folder });
    if code == ffi::SQLITE_OK {
        // SAFETY: as above.
        unsafe { (*opened).flushes_folder = false };
    }
    code
}

/// No memory map: every read comes through here.
unsafe extern "C" fn fetch(_: *mut sqlite3_file, _: sqlite3_int64, _: c_int, into: *mut *mut c_void) -> c_int {
    // SAFETY: SQLite gives a place for the answer.
    unsafe { *into = ptr::null_mut() };
    ffi::SQLITE_OK
}

unsafe extern "C" fn unfetch(_: *mut sqlite3_file, _: sqlite3_int64, _: *mut c_void) -> c_int {
    ffi::SQLITE_OK
}

/// A path as SQLite has it.
///
/// # Safety
/// It ends with a zero and lives during the call.
unsafe fn path<'a>(name: *const c_char) -> &'a Path {
    // SAFETY: as the caller says.
    Path::new(unsafe { CStr::from_ptr(name) }.to_str().expect("SQLite has paths in UTF-8"))
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite calls it with a VFS of ours.
    let state = unsafe { state_of(vfs) };
    let opened = file.cast::<Opened>();
    // SAFETY: SQLite gives `szOsFile` bytes for the file, aligned for anything: ours, then the system's.
    let real: *mut sqlite3_file = unsafe { opened.add(1).cast() };
    let really = || {
        let below = system();
        // SAFETY: the system's own VFS, with room for its file; the rest is as SQLite gave it.
        unsafe { (*below).xOpen.expect("the system's VFS opens files")(below, name, real, flags, flags_out) }
    };
    let outcome = if name.is_null() {
        let code = really();
        if code == ffi::SQLITE_OK { Ok(None) } else { Err(code) }
    } else {
        // SAFETY: SQLite gives a path that lives as long as the file is open.
        lock(state).open(unsafe { path(name) }, really).map(Some)
    };
    match outcome {
        Ok(number) => {
            let is_journal = flags & (ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_WAL) != 0;
            let flushes_folder = is_journal && flags & ffi::SQLITE_OPEN_CREATE != 0;
            let base = sqlite3_file { pMethods: &raw const METHODS };
            // SAFETY: as above; nothing was there before that would have to be dropped.
            unsafe { opened.write(Opened { base, state, number, flushes_folder }) };
            ffi::SQLITE_OK
        }
        Err(code) => {
            // SAFETY: as above; without methods SQLite does not close it.
            unsafe { (*file).pMethods = ptr::null() };
            code
        }
    }
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, name: *const c_char, sync_folder: c_int) -> c_int {
    // SAFETY: SQLite calls it with a VFS of ours and a path.
    let (state, file) = unsafe { (state_of(vfs), path(name)) };
    lock(state).delete(file, sync_folder != 0, || {
        let below = system();
        // SAFETY: the system's own VFS; the path is as SQLite gave it. The folder is not flushed: it is only noted.
        unsafe { (*below).xDelete.expect("the system's VFS deletes files")(below, name, 0) }
    })
}

unsafe extern "C" fn access(vfs: *mut sqlite3_vfs, name: *const c_char, flags: c_int, answer: *mut c_int) -> c_int {
    // SAFETY: SQLite calls it with a VFS of ours.
    if lock(unsafe { state_of(vfs) }).is_dark() {
        return ffi::SQLITE_IOERR_ACCESS;
    }
    let below = system();
    // SAFETY: the system's own VFS; the rest is as SQLite gave it.
    unsafe { (*below).xAccess.expect("the system's VFS looks for files")(below, name, flags, answer) }
}

unsafe extern "C" fn full_pathname(_: *mut sqlite3_vfs, name: *const c_char, count: c_int, into: *mut c_char) -> c_int {
    let below = system();
    // SAFETY: the system's own VFS; the rest is as SQLite gave it.
    unsafe { (*below).xFullPathname.expect("the system's VFS knows paths")(below, name, count, into) }
}
