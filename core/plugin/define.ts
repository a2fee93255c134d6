import { suggest } from '../../lib/text/did-you-mean.ts'
import { inspectShort } from '../../lib/text/inspect.ts'
import type { Plugin } from '../chain.ts'
import type { Authorizer } from '../contracts/auth.ts'
import type { ResponseCaches } from '../contracts/response-caches.ts'
import type { Tracer } from '../contracts/tracer.ts'
import type { EgressPolicy } from '../egress/egress-policy.ts'
import { Default, type Static, type TObject, Type } from '../schema.ts'
import { checkOptions } from './options.ts'

/** Log of a plugin, with the same argument order as pino. */
export interface PluginLog {
  /** Not written by default. */
  readonly debug: (details: object, message: string) => void
  readonly info: (details: object, message: string) => void
  readonly warn: (details: object, message: string) => void
  readonly error: (details: object, message: string) => void
}

/** Dependencies that the gateway passes to a plugin. */
export interface PluginEnv {
  readonly log: PluginLog
  /** Wall clock in milliseconds since 1970; replaceable in tests. */
  readonly nowMs: () => number
  /**
   * Base folder for relative file names in options, the folder of the configuration file. @default the working
   * directory
   */
  readonly configDir?: string
  /** Authorizes accounts by rules. @default none */
  readonly authorizer?: Authorizer | undefined
  /** Starts spans. @default none */
  readonly tracer?: Tracer | undefined
  /** Response caches of the process. @default each plugin has its own cache */
  readonly caches?: ResponseCaches | undefined
  /** Outgoing address policy of the process. @default the policy with default settings */
  readonly egress?: Pick<EgressPolicy, 'resolveKeys'> | undefined
}

/**
 * Where a plugin is listed: for all requests, or for requests to a service, of a route, or from an account. In the
 * `endpoint` scope, services list plugins in the registry, so their options must only restrict requests, and they must
 * not need `close`.
 */
export type PluginScope = 'gateway' | 'service' | 'route' | 'consumer' | 'endpoint'

/** Hooks of a plugin, as returned by `create`. */
export type PluginHooks = Omit<Plugin, 'name'>

/** Declaration of a plugin: its options and how to create it. */
export interface PluginSpec<Options extends TObject> {
  /** Kebab-case and equal to the file name. */
  readonly name: string
  /** One sentence for help texts. */
  readonly description: string
  /** JSON Schema of the options; unknown names are errors. */
  readonly options: Options
  /**
   * Scopes in which the plugin may be listed; elsewhere the configuration is invalid. @default all except `endpoint`
   */
  readonly scopes?: readonly PluginScope[]
  /** Creates the plugin from validated options with defaults. Throws for invalid combinations. */
  create(options: Static<Options>, env: PluginEnv): PluginHooks
}

/** A declared plugin with any options. */
export type PluginDefinition = PluginSpec<TObject>

const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/
const DEFAULT_SCOPES: readonly PluginScope[] = ['gateway', 'service', 'route', 'consumer']
const SCOPES: readonly PluginScope[] = [...DEFAULT_SCOPES, 'endpoint']
const NO_OPTIONS: TObject = Type.Object({})
/** Hook names in execution order. */
export const HOOKS = [
  'onRequest',
  'onRoute',
  'onForward',
  'onError',
  'onResponse',
  'onReplyBody',
  'onReply',
  'onDone',
  'close',
] as const

/**
 * Declares a plugin.
 *
 * @throws {TypeError} if the name is not kebab-case or a scope is unknown.
 */
export function definePlugin<Options extends TObject = TObject>(
  spec: Omit<PluginSpec<Options>, 'options'> & { readonly options?: Options },
): PluginDefinition {
  if (!NAME.test(spec.name))
    throw new TypeError(`plugin name must be kebab-case, got ${inspectShort(spec.name)}`)
  const { options = NO_OPTIONS, scopes = DEFAULT_SCOPES } = spec
  if (scopes.length === 0 || !scopes.every((scope) => SCOPES.includes(scope)))
    throw new TypeError(
      `plugin "${spec.name}": scopes must be a list of ${SCOPES.join(', ')}, got ${inspectShort(scopes)}`,
    )
  rejectUnknown(options)
  return { ...spec, options } as unknown as PluginDefinition
}

/** Sets `additionalProperties: false` in every object schema without it. */
function rejectUnknown(schema: {
  additionalProperties?: unknown
  properties?: Readonly<Record<string, object>>
}): void {
  if (schema.properties === undefined) return
  schema.additionalProperties ??= false
  for (const property of Object.values(schema.properties)) rejectUnknown(property)
}

/**
 * Creates a plugin from configured options.
 *
 * @param scope where the plugin is listed. @default not checked
 * @throws {OptionsError} with all invalid options; {@link TypeError} with the plugin name for errors of `create` and
 *   for a disallowed scope.
 */
export function createPlugin(
  definition: PluginDefinition,
  rawOptions: unknown,
  env: PluginEnv,
  scope?: PluginScope,
): Plugin {
  const { name, options: schema, scopes = DEFAULT_SCOPES } = definition
  if (scope !== undefined && !scopes.includes(scope))
    throw new TypeError(
      `plugin "${name}" is not allowed in the plugins of ${scope === 'endpoint' ? 'an' : 'a'} ${scope}; allowed scopes: ${scopes.join(', ')}`,
    )
  const options = Default(schema, structuredClone(rawOptions ?? {}))
  checkOptions(name, schema, options)
  let hooks: PluginHooks
  try {
    hooks = definition.create(options as Static<TObject>, env)
  } catch (error) {
    throw new TypeError(
      `plugin "${name}": ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    )
  }
  return toPlugin(name, hooks)
}

/**
 * Checks that an object is a plugin, and sets its name if missing.
 *
 * @throws {TypeError} if a hook is unknown or not a function, or the value is not an object.
 */
export function toPlugin(name: string, hooks: unknown): Plugin {
  const fail = (requirement: string): never => {
    throw new TypeError(`plugin "${name}": ${requirement}`)
  }
  if (typeof hooks !== 'object' || hooks === null)
    return fail(`must be an object with hooks, got ${inspectShort(hooks)}`)
  if (hooks instanceof Promise) return fail('create must return hooks, not a promise')
  const plugin = hooks as Record<string, unknown>
  for (const key of Object.keys(plugin)) {
    if (
      key === 'name' ||
      (HOOKS as readonly string[]).includes(key) ||
      !/^(on[A-Z]|close)/.test(key)
    )
      continue
    const suggestion = suggest(key, HOOKS)
    fail(
      `unknown hook ${key}${suggestion === undefined ? `; known: ${HOOKS.join(', ')}` : `, did you mean ${suggestion}?`}`,
    )
  }
  for (const hook of HOOKS) {
    if (plugin[hook] !== undefined && typeof plugin[hook] !== 'function') {
      fail(`${hook} must be a function, got ${inspectShort(plugin[hook])}`)
    }
  }
  const ownName = plugin['name']
  if (ownName !== undefined && (typeof ownName !== 'string' || !NAME.test(ownName))) {
    fail(`name must be kebab-case, got ${inspectShort(ownName)}`)
  }
  if (
    ownName === undefined &&
    !Reflect.defineProperty(plugin, 'name', { value: name, enumerable: true })
  ) {
    fail('a frozen plugin must have a name')
  }
  return plugin as unknown as Plugin
}
