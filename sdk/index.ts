/**
 * What authors of plugins and of services import: `import { definePlugin, endpoint, Type } from 'mx'`.
 *
 * The one entry point `mx`; the rest of the program imports the files themselves.
 */
export type { Maybe, Plugin, Step } from '../core/chain.ts'
export {
  definePlugin,
  type PluginDefinition,
  type PluginEnv,
  type PluginHooks,
  type PluginLog,
  type PluginSpec,
} from '../core/define-plugin.ts'
export { type ErrorBody, GatewayError, type GatewayErrorOptions } from '../core/errors.ts'
export type { Exchange } from '../core/exchange.ts'
export { HeaderList } from '../core/headers.ts'
export type { Route } from '../core/route.ts'
export { Type } from '../core/schema.ts'
export type { AcceptOptions, ServerSocket, SocketReceiver } from '../core/server-socket.ts'
export { formatDuration, formatSize, parseDuration, parseSize } from '../core/units.ts'
export {
  type Account,
  type Context,
  type ContextOptions,
  createContext,
  metadata,
} from './context.ts'
export {
  type EndpointDefinition,
  type EndpointKind,
  type EndpointSpec,
  type Endpoints,
  endpoint,
  type HandlerRequest,
  type HandlerResponse,
  type HttpRoute,
  type KindOf,
  type RequestOf,
  type ResponseOf,
} from './endpoint.ts'
export {
  badGateway,
  badRequest,
  conflict,
  type ErrorConstructor,
  forbidden,
  gatewayTimeout,
  internal,
  methodNotAllowed,
  notFound,
  notImplemented,
  parseServiceError,
  preconditionFailed,
  ServiceError,
  type ServiceErrorOptions,
  timeout,
  tooManyRequests,
  unauthorized,
  unavailable,
} from './errors.ts'
export { loadProto, type ProtoFile } from './protobuf.ts'
export {
  type Decoded,
  type MessageCodec,
  type ProtobufMessage,
  protobufMessage,
  type Returned,
  type Schema,
  type StandardIssue,
  type StandardResult,
  type StandardSchema,
  type WireRequest,
  type WireResponse,
} from './schema.ts'
export { Bytes, Int64, type TBytes, type TInt64, Uint64 } from './schema-types.ts'
