import { suggest } from '../../lib/text/did-you-mean.ts'
import { inspectShort } from '../../lib/text/inspect.ts'
import type { Plugin } from '../chain.ts'
import type { Authorizer } from '../contracts/auth.ts'
import type { Tracer } from '../contracts/tracer.ts'
import type { EgressPolicy } from '../egress/egress-policy.ts'
import { Default, type Static, type TObject, Type } from '../schema.ts'
import { checkOptions } from './options.ts'

/** Where a plugin reports what an operator should know; same order of arguments as pino. */
export interface PluginLog {
  /** Of interest while looking for a fault; not written unless asked for. */
  readonly debug: (details: object, message: string) => void
  /** Something happened. */
  readonly info: (details: object, message: string) => void
  /** Something is not as it should be. */
  readonly warn: (details: object, message: string) => void
  /** Something failed. */
  readonly error: (details: object, message: string) => void
}

/** What the gateway lends a plugin when it builds it. */
export interface PluginEnv {
  readonly log: PluginLog
  /** Wall clock, milliseconds since 1970. Tests replace it. */
  readonly nowMs: () => number
  /** Folder that relative files in options belong to: that of the configuration file. @default the working directory */
  readonly configDir?: string
  /** Knows accounts and rules. @default nobody does */
  readonly gate?: Authorizer | undefined
  /** Begins spans. @default nobody traces */
  readonly tracer?: Tracer | undefined
  /** Outgoing address policy of the process. @default that of the default settings */
  readonly egress?: Pick<EgressPolicy, 'resolveKeys'> | undefined
}

/** A plugin without its name: what `create` returns. */
export type PluginHooks = Omit<Plugin, 'name'>

/** How a plugin is declared: its options and how to build it. */
export interface PluginSpec<Options extends TObject> {
  /** Kebab-case and equal to the file name. */
  readonly name: string
  /** One sentence for help texts. */
  readonly description: string
  /** JSON Schema of the options; unknown names are errors. */
  readonly options: Options
  /** Builds the plugin from checked options, defaults filled in. Throws when their values make no sense. */
  create(options: Static<Options>, env: PluginEnv): PluginHooks
}

/** A declared plugin, whatever its options. */
export type PluginDefinition = PluginSpec<TObject>

const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/
const NO_OPTIONS: TObject = Type.Object({})
/** Hook names in the order they run. */
const HOOKS = ['onRequest', 'onRoute', 'onReply', 'onDone', 'close'] as const

/**
 * Declares a plugin. Without `options` it takes none.
 *
 * @throws {TypeError} when the name is not kebab-case.
 */
export function definePlugin<Options extends TObject = TObject>(
  spec: Omit<PluginSpec<Options>, 'options'> & { readonly options?: Options },
): PluginDefinition {
  if (!NAME.test(spec.name))
    throw new TypeError(`plugin name must be kebab-case, got ${inspectShort(spec.name)}`)
  const { options = NO_OPTIONS } = spec
  refuseUnknown(options)
  return { ...spec, options } as unknown as PluginDefinition
}

/** Closes every object of a schema that does not say itself what further names mean. */
function refuseUnknown(schema: {
  additionalProperties?: unknown
  properties?: Readonly<Record<string, object>>
}): void {
  if (schema.properties === undefined) return
  schema.additionalProperties ??= false
  for (const property of Object.values(schema.properties)) refuseUnknown(property)
}

/**
 * Builds a plugin from options as they stand in a configuration.
 *
 * @throws {OptionsError} with every option that is wrong; {@link TypeError} naming the plugin for what `create` throws.
 */
export function createPlugin(
  definition: PluginDefinition,
  rawOptions: unknown,
  env: PluginEnv,
): Plugin {
  const { name, options: schema } = definition
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
 * Checks that an object is a plugin and names it `name` if it has no name.
 *
 * @throws {TypeError} for a hook that is no function, an unknown hook, or an object with no hook at all.
 */
export function toPlugin(name: string, hooks: unknown): Plugin {
  const fail = (what: string): never => {
    throw new TypeError(`plugin "${name}": ${what}`)
  }
  if (typeof hooks !== 'object' || hooks === null)
    return fail(`must be an object with hooks, got ${inspectShort(hooks)}`)
  if (hooks instanceof Promise) return fail('create must return the hooks, not a promise of them')
  const given = hooks as Record<string, unknown>
  for (const key of Object.keys(given)) {
    if (
      key === 'name' ||
      (HOOKS as readonly string[]).includes(key) ||
      !/^(on[A-Z]|close)/.test(key)
    )
      continue
    const meant = suggest(key, HOOKS)
    fail(
      `unknown hook ${key}, ${meant === undefined ? `the hooks are ${HOOKS.join(', ')}` : `did you mean ${meant}?`}`,
    )
  }
  for (const hook of HOOKS) {
    if (given[hook] !== undefined && typeof given[hook] !== 'function') {
      fail(`${hook} must be a function, got ${inspectShort(given[hook])}`)
    }
  }
  const own = given['name']
  if (own !== undefined && (typeof own !== 'string' || !NAME.test(own))) {
    fail(`name must be kebab-case, got ${inspectShort(own)}`)
  }
  if (
    own === undefined &&
    !Reflect.defineProperty(given, 'name', { value: name, enumerable: true })
  ) {
    fail('a frozen plugin must have a name')
  }
  return given as unknown as Plugin
}
