import { type KnownOptions, rejectUnknownOptions } from '../../lib/object/known-options.ts'
import type { CallOptions, Client } from '../client/client.ts'
import { toWatchStream } from '../client/streams/watch-stream.ts'
import { findInternals } from '../internal/internals.ts'
import { Service } from '../service/service.ts'
import { type ConfigSource, type ConfigValue, toConfigValue } from './config-value.ts'
import { formatConfigValue } from './format-config-value.ts'

/** How the calls of a configuration are made: on whose behalf, how long, until when. The namespace is the configuration's. */
export type ConfigCallOptions = Pick<
  CallOptions,
  'context' | 'namespace' | 'signal' | 'timeoutMs' | 'retries' | 'address'
>

/** How to read and write. */
export interface ConfigSecretOptions extends ConfigCallOptions {
  /** Read: secrets are told, otherwise they are `[secret]`. Written: all of the value is secret. @default false */
  readonly secret?: boolean
}

/**
 * The platform's configuration, kept by the service `config` (specification: Config entry, Library-level operations).
 *
 * Paths are names joined by dots, `<service>.<key>.<subkey>`; the empty one is the whole tree of a namespace.
 */
export interface Config {
  /**
   * Reads a value or a whole subtree. Always resolves: of what is not there, or could not be read, the accessors give their
   * fallbacks, and `error` says why it could not be read.
   */
  readonly get: (path: string, options?: ConfigSecretOptions) => Promise<ConfigValue>
  /**
   * Sets a value. Objects, and texts that are a JSON object, are merged with the object that is there; anything else takes its
   * place. What takes the place of a secret stays one.
   *
   * @param value what JSON can say.
   * @throws {TypeError} for a value JSON cannot say.
   * @throws {ServiceError} 400 naming what is malformed, 413 when the whole would be too long, 503.
   */
  readonly set: (path: string, value: unknown, options?: ConfigSecretOptions) => Promise<void>
  /** Deletes a value or a whole subtree; one that is not there does not matter. */
  readonly delete: (path: string, options?: ConfigCallOptions) => Promise<void>
  /**
   * The value, at once and after every change of it, now and then once more; whoever is slow gets the last. Leaving the loop ends it. It throws 503 when
   * the service is stopped, 502 when it is lost: then begin again.
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
 * Opens the configuration of a namespace: that of the call, else `mx`.
 *
 * ```ts
 * const config = createConfig(service)
 * await config.set('helloworld.greeting', 'Hello')
 * const greeting = (await config.get('helloworld.greeting')).string('Hi')
 * ```
 *
 * @throws {TypeError} for an unknown option, here and by each method.
 */
export function createConfig(
  owner: Client | Service<object>,
  options: ConfigCallOptions = {},
): Config {
  rejectUnknownOptions('createConfig', options, CALL)
  const client = owner instanceof Service ? owner.client : owner

  /** How a method is called, and whether it is about secrets. */
  function split(what: string, given: ConfigSecretOptions, known: object) {
    rejectUnknownOptions(`config.${what}`, given, known)
    const { secret = false, ...own } = given
    return { call: { ...options, ...own }, secret }
  }

  return {
    async get(path, given = {}) {
      const { call, secret } = split('get', given, SECRET)
      try {
        const request = { path, options: { secret } }
        const reading = await client.call<WireReading>(SERVICE, 'Config.Get', request, call)
        return toConfigValue(toSource(path, reading))
      } catch (error) {
        return toConfigValue(toFailure(path, error))
      }
    },

    async set(path, value, given = {}) {
      const { call, secret } = split('set', given, SECRET)
      const data = formatConfigValue(value)
      await client.call(SERVICE, 'Config.Set', { path, value: { data }, options: { secret } }, call)
    },

    async delete(path, given = {}) {
      const { call } = split('delete', given, CALL)
      await client.call(SERVICE, 'Config.Delete', { path }, call)
    },

    watch(path, given = {}) {
      const { call, secret } = split('watch', given, SECRET)
      // A stream is never repeated.
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

/** A namespace nobody ever wrote to has nothing, which is no error. */
function toFailure(path: string, thrown: unknown): ConfigSource {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown })
  const isNothing =
    'code' in error && error.code === NOT_FOUND && 'id' in error && error.id === 'config.Config.Get'
  return isNothing ? { path } : { path, error }
}
