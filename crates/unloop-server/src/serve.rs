//! Connections: accepted, limited, ended in good order.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_io_timeout::TimeoutStream;

use crate::again::Again;
use crate::beside::rest;
use crate::service::Service;

/// After it was told to stop, requests are answered so long, and connections accepted that wait already.
const LAST_CALL: Duration = Duration::from_millis(500);
/// Something of an answer has to be taken in this time.
const WRITE_LIMIT: Duration = Duration::from_secs(15);
/// A request's head has to arrive in this time.
const HEAD_LIMIT: Duration = Duration::from_secs(10);
/// Bytes of a request's head at most, about.
const LARGEST_HEAD: usize = 64 * 1024;

/// Serves connections until it is told to stop; then answers what was sent before, within the time that a request may take.
///
/// # Errors
/// If connections cannot be accepted any more.
pub async fn serve(
    listener: TcpListener,
    app: Router,
    service: &Arc<Service>,
    stop: impl Future<Output = ()>,
) -> std::io::Result<()> {
    // What is computed beside lets those that answer through.
    unloop::set_pause(rest);
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(service.settings.connections));
    let mut stop = std::pin::pin!(stop);
    let mut end: Option<Instant> = None;
    loop {
        let over = async {
            match end {
                Some(end) => tokio::time::sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        let (stream, place) = tokio::select! {
            () = &mut stop, if end.is_none() => {
                // What was sent before may still lie in a socket: it is read, and each answer says that the connection ends.
                service.health.drain();
                end = Some(Instant::now() + LAST_CALL);
                continue;
            }
            () = over => break,
            accepted = accept(&listener, &places) => match accepted {
                Ok(Some(accepted)) => accepted,
                Ok(None) => continue,
                Err(error) => return Err(error),
            },
        };
        // Answers are small and somebody waits for each.
        let _ = stream.set_nodelay(true);
        // Whoever does not read their answers gives their place up.
        let mut stream = Box::pin(TimeoutStream::new(stream));
        stream.as_mut().set_write_timeout_pinned(Some(WRITE_LIMIT));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_LIMIT)
            .max_buf_size(LARGEST_HEAD)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app.clone()));
        let watched = graceful.watch(connection);
        tokio::spawn(async move {
            // Who goes away in the middle is no error of ours.
            let _ = Again::new(watched).await;
            drop(place);
        });
    }
    drop(listener);
    let limit = service.settings.request_limit + Duration::from_secs(1);
    if tokio::time::timeout(limit, graceful.shutdown()).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
    Ok(())
}

type Accepted = (tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit);

/// A connection, once there is a place for it; none where there was something wrong with this one alone.
async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> std::io::Result<Option<Accepted>> {
    let place = Arc::clone(places).acquire_owned().await.map_err(std::io::Error::other)?;
    match listener.accept().await {
        Ok((stream, _)) => Ok(Some((stream, place))),
        Err(error) => {
            use std::io::ErrorKind;
            let of_this =
                matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset);
            if !of_this {
                // Too many open files, most likely: some will be closed.
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Ok(None)
        }
    }
}
