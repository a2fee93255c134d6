export interface RequestBody {
  readonly type: string
  readonly bytes: number
  readonly create: () => Uint8Array
}

/** One kind of traffic, the same for all rivals. */
export interface Scenario {
  readonly name: string
  /** Heading of the table. */
  readonly title: string
  /** Path with query. The first segment is the service for mx; the backend uses the last one. */
  readonly path: string
  /** Path of the readiness probe: status 200 without delay. @default path */
  readonly readyPath?: string
  readonly method: 'GET' | 'POST'
  readonly body?: RequestBody
  /** Header `Accept`. @default none */
  readonly accept?: string
  readonly tls: boolean
  /** Clients use HTTP/2. @default HTTP/1.1 */
  readonly http2?: boolean
  /** Pipelined requests per backend connection. */
  readonly pipeline: number
  readonly accessLog: boolean
  /** How mx forwards requests: as HTTP, or as calls of the service. */
  readonly handler: 'proxy' | 'rpc'
  /** Backend: `direct` is nginx, `server` a Node.js program, `grpc` a gRPC server. */
  readonly backend: 'direct' | 'server' | 'grpc'
  /** Routes in the configuration of mx; the request matches one of them. @default none */
  readonly routes?: number
  /** Number of client connections; overrides the option. */
  readonly connections?: number
  /** Minimum meaningful duration. */
  readonly minSeconds?: number
  /** Names of relevant rivals. @default all */
  readonly rivals?: readonly string[]
  /** Goal of mx for the CPU time per request, relative to nginx. */
  readonly goal?: number
}
