import { type KnownOptions, rejectUnknownOptions } from '../../lib/object/known-options.ts'
import type { CallOptions, Client } from '../client/client.ts'
import { toWatchStream } from '../client/streams/watch-stream.ts'
import { findInternals } from '../internal/internals.ts'
import { Service } from '../service/service.ts'
import { type ConfigSource, type ConfigValue, toConfigValue } from './config-value.ts'
import { formatConfigValue } from './format-config-value.ts'

/** Call options of configuration methods. The namespace is the namespace of the configuration. */
export type ConfigCallOptions = Pick<
  CallOptions,
  'context' | 'namespace' | 'signal' | 'timeoutMs' | 'retries' | 'address'
>

/** Options of reads and writes. */
export interface ConfigSecretOptions extends ConfigCallOptions {
  /**
   * On reads, return secrets instead of `[secret]`. On writes, mark the whole value as secret.
   * @default false
   */
  readonly secret?: boolean
}

/**
 * The platform's configuration, stored by the `config` service (specification: Config entry, Library-level operations).
 * Paths are names joined by dots, `<service>.<key>.<subkey>`; the empty path is the complete tree of a namespace.
 */
export interface Config {
  /**
   * Reads a value or subtree. Always resolves: if the value is missing or the read fails, accessors return their
   * fallbacks, and `error` contains the reason of a failure.
   */
  readonly get: (path: string, options?: ConfigSecretOptions) => Promise<ConfigValue>
  /**
   * Sets a value. Objects, and strings that contain a JSON object, are merged into an existing object; other values
   * replace it. The replacement of a secret is also secret.
   *
   * @param value a JSON value.
   * @throws {TypeError} for a value that JSON cannot represent.
   * @throws {ServiceError} 400 for malformed input, 413 if the configuration would become too large, 503.
   */
  readonly set: (path: string, value: unknown, options?: ConfigSecretOptions) => Promise<void>
  /** Deletes a value or subtree, if it exists. */
  readonly delete: (path: string, options?: ConfigCallOptions) => Promise<void>
  /**
   * Yields the current value and each change, possibly repeated; a slow reader gets the latest value. Leaving the loop
   * ends the watch. Throws 503 when the service stops and 502 when its connection is lost; start another watch then.
   */
  readonly watch: (
    path: string,
    options?: ConfigSecretOptions,
  ) => AsyncIterableIterator<ConfigValue>
}

const CALL: KnownOptions<ConfigCallOptions> = {
  context: true,
  namespace: true,
  signal: true,
  timeoutMs: true,
  retries: true,
  address: true,
}
const SECRET: KnownOptions<ConfigSecretOptions> = { ...CALL, secret: true }
const SERVICE = 'config'
const NOT_FOUND = 404

interface WireReading {
  readonly value: { readonly data: string }
  readonly exists: boolean
}

/**
 * Opens the configuration of a namespace, by default the namespace of the call, else `mx`.
 *
 * ```ts
 * const config = createConfig(service)
 * await config.set('helloworld.greeting', 'Hello')
 * const greeting = (await config.get('helloworld.greeting')).string('Hi')
 * ```
 *
 * @throws {TypeError} for an unknown option, here and in each method.
 */
export function createConfig(
  owner: Client | Service<object>,
  options: ConfigCallOptions = {},
): Config {
  rejectUnknownOptions('createConfig', options, CALL)
  const client = owner instanceof Service ? owner.client : owner

  /** Splits options into call options and `secret`. */
  function split(method: string, callOptions: ConfigSecretOptions, knownOptions: object) {
    rejectUnknownOptions(`config.${method}`, callOptions, knownOptions)
    const { secret = false, ...ownOptions } = callOptions
    return { call: { ...options, ...ownOptions }, secret }
  }

  return {
    async get(path, callOptions = {}) {
      const { call, secret } = split('get', callOptions, SECRET)
      try {
        const request = { path, options: { secret } }
        const reading = await client.call<WireReading>(SERVICE, 'Config.Get', request, call)
        return toConfigValue(toSource(path, reading))
      } catch (error) {
        return toConfigValue(toFailure(path, error))
      }
    },

    async set(path, value, callOptions = {}) {
      const { call, secret } = split('set', callOptions, SECRET)
      const data = formatConfigValue(value)
      await client.call(SERVICE, 'Config.Set', { path, value: { data }, options: { secret } }, call)
    },

    async delete(path, callOptions = {}) {
      const { call } = split('delete', callOptions, CALL)
      await client.call(SERVICE, 'Config.Delete', { path }, call)
    },

    watch(path, callOptions = {}) {
      const { call, secret } = split('watch', callOptions, SECRET)
      // Streams are never retried.
      const { retries: _, ...streaming } = call
      const request = { path, options: { secret } }
      return toWatchStream<WireReading, ConfigValue>({
        open: () => client.stream(SERVICE, 'Config.Watch', request, streaming),
        service: SERVICE,
        toEvent: (message) => toConfigValue(toSource(path, message)),
        tokens: call.context === undefined ? findInternals(client)?.tokens : undefined,
      })
    },
  }
}

function toSource(path: string, { value, exists }: WireReading): ConfigSource {
  return exists ? { path, data: value.data } : { path }
}

/** Converts a read error. An unknown namespace is treated as empty. */
function toFailure(path: string, thrown: unknown): ConfigSource {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown })
  const isUnset =
    'code' in error && error.code === NOT_FOUND && 'id' in error && error.id === 'config.Config.Get'
  return isUnset ? { path } : { path, error }
}
