export interface Pair {
  readonly key: string
  readonly values: readonly string[]
}

/** Pairs by their `key`. */
export type Pairs = Readonly<Record<string, Pair>>

/** Encoding of bytes that are not text, which JSON cannot represent: Base64 (RFC 4648 §4). Absent for text. */
export type TextEncoding = 'base64'

/** An HTTP request as forwarded by the `api` handler (reference: api). */
export interface ApiRequest {
  /** Method in upper case: `GET`. */
  readonly method: string
  /** Path as received: percent-encoded, without the query. */
  readonly path: string
  /** Headers by canonical name, such as `Content-Type`. A pair has one value per header line. */
  readonly header: Pairs
  /** Query parameters. */
  readonly get: Pairs
  /** Form fields (`application/x-www-form-urlencoded`); `body` is empty then. */
  readonly post: Pairs
  readonly body: string
  /** Encoding of `body`. */
  readonly encoding?: TextEncoding
  /** Path and query as received. */
  readonly url: string
}

/** HTTP response of a service to an {@link ApiRequest}. All fields are optional. */
export interface ApiResponse {
  readonly statusCode?: number
  /** Each value of a pair becomes a header line. @default Content-Type application/json */
  readonly header?: Pairs
  /** @default '' */
  readonly body?: string
  /** Encoding of `body`. */
  readonly encoding?: TextEncoding
}

/** An HTTP request as published by the `event` handler: `proto.Event` of the specification. */
export interface ApiEvent {
  /** `created` */
  readonly name: string
  /** UUID of the event, also returned in the response. */
  readonly id: string
  /** Seconds since 1970. */
  readonly timestamp: number
  readonly header: Pairs
  /** Request body; for GET and HEAD the query as JSON: an object of lists. */
  readonly data: string
  /** Encoding of `data`. */
  readonly encoding?: TextEncoding
}
