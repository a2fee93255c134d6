/**
 * Public API for plugins and services: `import { definePlugin, endpoint, Service, Type } from 'mx-gateway'`.
 *
 * The only entry point of `mx-gateway`; internal modules import files directly.
 */

export type { BodyChange, Plugin, Step } from '../core/chain.ts'
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
export { type ErrorBody, GatewayError, type GatewayErrorOptions } from '../core/errors.ts'
export type { Exchange } from '../core/exchange.ts'
export { HeaderList } from '../core/http/headers.ts'
export type {
  AcceptOptions,
  ServerSocket,
  SocketReceiver,
} from '../core/listener/websocket/session.ts'
export {
  definePlugin,
  type PluginDefinition,
  type PluginEnv,
  type PluginHooks,
  type PluginLog,
  type PluginScope,
  type PluginSpec,
} from '../core/plugin/define.ts'
export type { Route } from '../core/route.ts'
export { Type } from '../core/schema.ts'
export type { OverflowPolicy as WhenSlow } from '../domain/broker/delivery.ts'
export type { Maybe } from '../lib/async/maybe.ts'
export { formatDuration, formatSize, parseDuration, parseSize } from '../lib/text/units.ts'
export type { Credentials } from './auth/credentials.ts'
export {
  createBroker,
  type MessageBroker,
  type PublishOptions,
  type TopicOptions,
} from './broker/broker.ts'
export type { MessageDetails, Subscriber } from './broker/message.ts'
export type { BrokerCallOptions } from './broker/platform-broker.ts'
export type { SubscriberOptions } from './broker/subscriptions.ts'
export type { CallDetails } from './client/call-metadata.ts'
export { type CallOptions, Client, type ClientOptions } from './client/client.ts'
export type {
  EndpointProxy,
  HandlerProxy,
  HandlersOf,
  ServiceProxy,
} from './client/service-proxy.ts'
export type { CallStream } from './client/streams/call-stream.ts'
export type { Requests } from './client/streams/stream-call.ts'
export { loadProto, type ProtoFile } from './codec/protobuf.ts'
export {
  type Config,
  type ConfigCallOptions,
  type ConfigSecretOptions,
  createConfig,
} from './config/config.ts'
export type { ConfigValue } from './config/config-value.ts'
export {
  type Account,
  type Context,
  type ContextOptions,
  createContext,
  metadata,
} from './context.ts'
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
export type { EventChannel } from './events/event-channel.ts'
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
} from './events/events.ts'
export type { ConsumedEvent, PlatformEvent } from './events/platform-event.ts'
export {
  createServiceLog,
  type LogRecord,
  type ServiceLog,
  type ServiceLogLevel,
  type ServiceLogOptions,
} from './log/service-log.ts'
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
} from './schema/schema.ts'
export { Bytes, Int64, type TBytes, type TInt64, Uint64 } from './schema/schema-types.ts'
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
} from './service/endpoint.ts'
export type { HttpRoute } from './service/http-route.ts'
export type { ServiceLimits } from './service/port.ts'
export {
  type RunOptions,
  Service,
  type ServiceOptions,
  type StopOptions,
} from './service/service.ts'
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
} from './store/store.ts'
export type { StoreEvent, StoreField, StoreRecord } from './store/store-record.ts'
