/** Request line and header fields together, bytes; more is answered 431. */
export const HEADER_MAX_BYTES: number = 16 * 1024

/** How long a client may take for a request line with its header fields. */
export const HEADER_TIMEOUT_MS = 10_000

/** Idle time of a client connection, unless it is set: longer than the 60 s of common load balancers, which must be the ones to close. */
export const KEEP_ALIVE_TIMEOUT_MS = 75_000

/** How long a client may take none of a reply, and in which {@link UPLOAD_MIN_BYTES} of a request body have to arrive. */
export const STALL_TIMEOUT_MS = 30_000

/** Payload bytes of a request body that have to arrive in {@link STALL_TIMEOUT_MS}; framing does not count. A body that drips holds a connection for ever. */
export const UPLOAD_MIN_BYTES = 1024

/** Requests of one connection of HTTP/2 at a time. */
export const STREAMS_MAX = 128
