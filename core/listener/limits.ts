/** Maximum size of request line and headers, in bytes; larger heads are rejected with 431. */
export const HEADER_MAX_BYTES: number = 16 * 1024

/** Time limit for request line and headers. */
export const HEADER_TIMEOUT_MS = 10_000

/**
 * Default idle timeout of client connections. Longer than the 60 s of common load balancers, which must close first.
 */
export const KEEP_ALIVE_TIMEOUT_MS = 75_000

/**
 * Maximum time that a client may stop reading a response, and the time in which {@link UPLOAD_MIN_BYTES} of a request
 * body must arrive.
 */
export const STALL_TIMEOUT_MS = 30_000

/**
 * Payload bytes of a request body, without framing, that must arrive within {@link STALL_TIMEOUT_MS}. Otherwise a slow
 * body could occupy a connection indefinitely.
 */
export const UPLOAD_MIN_BYTES = 1024

/** Maximum concurrent streams per HTTP/2 connection. */
export const STREAMS_MAX = 128
