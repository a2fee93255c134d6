export interface RequestBody {
  readonly type: string
  readonly bytes: number
  readonly create: () => Uint8Array
}

/** A traffic pattern, the same for all rivals. */
export interface Scenario {
  readonly name: string
  /** Table heading. */
  readonly title: string
  /** Path with query. The first segment is the service for mx; the backend uses the last one. */
  readonly path: string
  /** Path of the readiness probe, which must respond immediately with status 200. @default path */
  readonly readyPath?: string
  readonly method: 'GET' | 'POST'
  readonly body?: RequestBody
  /** `Accept` header. @default none */
  readonly accept?: string
  readonly tls: boolean
  /** True if clients use HTTP/2. @default HTTP/1.1 */
  readonly http2?: boolean
  /** Pipelined requests per backend connection. */
  readonly pipeline: number
  readonly accessLog: boolean
  /** How mx forwards requests: as HTTP, or as calls to the service. */
  readonly handler: 'proxy' | 'rpc'
  /** Backend: nginx for `direct`, a Node.js program for `server`, a gRPC server for `grpc`. */
  readonly backend: 'direct' | 'server' | 'grpc'
  /** Number of configured routes in mx, one of which matches the request. @default none */
  readonly routes?: number
  /** Whether the routes have conditions on headers, parameters and clients. @default false */
  readonly hasConditions?: boolean
  /** Plugins of mx as YAML, instead of the default ones. @default the default plugins */
  readonly plugins?: readonly string[]
  /** Whether clients accept gzip, and proxies compress JSON. @default false */
  readonly gzip?: boolean
  /** Whether proxies cache the responses. @default false */
  readonly cache?: boolean
  /** Number of client connections; takes precedence over the option. */
  readonly connections?: number
  /** Minimum meaningful duration. */
  readonly minSeconds?: number
  /** Names of relevant rivals. @default all */
  readonly rivals?: readonly string[]
  /** Goal for the CPU time of mx per request, relative to nginx. */
  readonly goal?: number
}
