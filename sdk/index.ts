/**
 * What authors of plugins import: `import { definePlugin, Type } from 'mx'`.
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
