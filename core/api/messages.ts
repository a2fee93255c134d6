/** A name and its values. */
export interface Pair {
  readonly key: string
  readonly values: readonly string[]
}

/** Pairs by their `key`. */
export type Pairs = Readonly<Record<string, Pair>>

/** How a text holds bytes that are none, which JSON does not know: in Base64 (RFC 4648 §4). Absent for text. */
export type TextEncoding = 'base64'

/** An HTTP request as the handler `api` forwards it (reference: api). */
export interface ApiRequest {
  /** Upper case: `GET`. */
  readonly method: string
  /** As received: percent-encoded, without the query. */
  readonly path: string
  /** Names as in `Content-Type`. A pair has one value for each field line. */
  readonly header: Pairs
  /** Parameters of the query. */
  readonly get: Pairs
  /** Fields of a form (`application/x-www-form-urlencoded`), whose `body` is empty. */
  readonly post: Pairs
  readonly body: string
  /** Of `body`. */
  readonly encoding?: TextEncoding
  /** Path and query as received. */
  readonly url: string
}

/** The HTTP response a service answers an {@link ApiRequest} with. Everything may be left out. */
export interface ApiResponse {
  /** 200 to 599; 0: 200. @default 200 */
  readonly statusCode?: number
  /** Each value of a pair is a field line of its own. @default Content-Type application/json */
  readonly header?: Pairs
  /** @default '' */
  readonly body?: string
  /** Of `body`. */
  readonly encoding?: TextEncoding
}

/** An HTTP request as the handler `event` publishes it: `proto.Event` of the specification. */
export interface ApiEvent {
  /** `created` */
  readonly name: string
  /** A UUID: what the request is answered with, too. */
  readonly id: string
  /** Seconds since 1970. */
  readonly timestamp: number
  readonly header: Pairs
  /** The request body; for GET and HEAD the query, as JSON: each name with the list of its values. */
  readonly data: string
  /** Of `data`. */
  readonly encoding?: TextEncoding
}
