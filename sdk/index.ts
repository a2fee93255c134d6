/**
 * What authors of plugins and of services import: `import { definePlugin, endpoint, Service, Type } from 'mx-gateway'`.
 *
 * The one entry point `mx-gateway`; the rest of the program imports the files themselves.
 */

export type { WhenSlow } from '../core/broker/delivery.ts'
export type { Maybe, Plugin, Step } from '../core/chain.ts'
export type { Broker, Message, MessageHandler, SubscribeOptions } from '../core/contracts/broker.ts'
export type {
  Endpoint,
  Node,
  RegisterOptions,
  Registry,
  RegistryEvent,
  Service as ServiceEntry,
  Value,
  WatchOptions,
} from '../core/contracts/registry.ts'
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
  createBroker,
  type MessageBroker,
  type PublishOptions,
  type TopicOptions,
} from './broker.ts'
export type { CallDetails } from './call-metadata.ts'
export type { CallStream } from './call-stream.ts'
export { type CallOptions, Client, type ClientOptions } from './client.ts'
export {
  type Config,
  type ConfigCallOptions,
  type ConfigSecretOptions,
  createConfig,
} from './config.ts'
export type { ConfigValue } from './config-value.ts'
export {
  type Account,
  type Context,
  type ContextOptions,
  createContext,
  metadata,
} from './context.ts'
export type { Credentials } from './credentials.ts'
export {
  type EndpointDefinition,
  type EndpointKind,
  type EndpointSpec,
  type Endpoints,
  endpoint,
  type HandlerRequest,
  type HandlerResponse,
  type KindOf,
  type PromptIterable,
  type PromptIterator,
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
export type { EventChannel } from './event-channel.ts'
export {
  createEvents,
  type Events,
  type EventsCallOptions,
  type EventsConsumeOptions,
  type EventsGroup,
  type EventsPublishOptions,
  type EventsReadOptions,
  type EventsTopic,
  type EventsTopicsOptions,
  type PublishedEvent,
} from './events.ts'
export type { HttpRoute } from './http-route.ts'
export type { MessageDetails, Subscriber } from './message.ts'
export type { BrokerCallOptions } from './platform-broker.ts'
export type { ConsumedEvent, PlatformEvent } from './platform-event.ts'
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
export { type RunOptions, Service, type ServiceOptions, type StopOptions } from './service.ts'
export {
  createServiceLog,
  type LogRecord,
  type ServiceLog,
  type ServiceLogLevel,
  type ServiceLogOptions,
} from './service-log.ts'
export type { ServiceLimits } from './service-port.ts'
export type { EndpointProxy, HandlerProxy, HandlersOf, ServiceProxy } from './service-proxy.ts'
export {
  createStore,
  type Store,
  type StoreCallOptions,
  type StoreDeleteOptions,
  type StoreListOptions,
  type StoreOptions,
  type StoreRange,
  type StoreReadOptions,
  type StoreWatchOptions,
  type StoreWriteOptions,
} from './store.ts'
export type { StoreEvent, StoreField, StoreRecord } from './store-record.ts'
export type { Requests } from './stream-call.ts'
export type { SubscriberOptions } from './subscriptions.ts'
