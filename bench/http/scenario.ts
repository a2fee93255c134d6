/** What a request carries. */
export interface RequestBody {
  readonly type: string
  readonly bytes: number
  readonly create: () => Uint8Array
}

/** One kind of traffic, sent to every rival alike. */
export interface Scenario {
  readonly name: string
  /** As the table's heading says it. */
  readonly title: string
  /** With the query. The first segment names the service for mx; the backend looks at the last. */
  readonly path: string
  /** What is answered 200, and soon, by a program that is ready. @default path */
  readonly readyPath?: string
  readonly method: 'GET' | 'POST'
  readonly body?: RequestBody
  /** Field `Accept`. @default none */
  readonly accept?: string
  readonly tls: boolean
  /** Whether clients speak HTTP/2. @default HTTP/1.1 */
  readonly http2?: boolean
  /** Requests that may be written ahead on one backend connection. */
  readonly pipeline: number
  readonly accessLog: boolean
  /** How mx forwards: as HTTP, or as calls to the service. */
  readonly handler: 'proxy' | 'rpc'
  /** What answers plain HTTP: `direct`, nginx by itself, or `server`, a program; `grpc` answers gRPC. */
  readonly backend: 'direct' | 'server' | 'grpc'
  /** Client connections, whatever was asked for. */
  readonly connections?: number
  /** Shortest time that means something. */
  readonly minSeconds?: number
  /** Which rivals are of interest; undefined: all. */
  readonly rivals?: readonly string[]
  /** CPU per request against nginx that is wanted of mx. */
  readonly goal?: number
}
