import type { Handler } from '../core/chain.ts'
import type { Resolver } from '../core/route.ts'
import { suggest } from '../core/suggest.ts'
import { handlers } from '../handlers/index.gen.ts'
import type { WebOptions } from '../handlers/web.ts'
import { resolvers } from '../resolvers/index.gen.ts'
import type { Settings } from './settings.ts'
import { SettingsError } from './settings-sources.ts'

/** What handlers may be told; each takes what it knows. */
type HandlerOptions = WebOptions

export type CreateHandler = (options: HandlerOptions) => Handler

/** The resolver that belongs to each handler (specification: the handler table). */
const RESOLVER_OF: Readonly<Record<string, string>> = { proxy: 'proxy', web: 'proxy' }

/** @throws {SettingsError} when this version has no such handler. */
export function findHandler(name: string): CreateHandler {
  return find(handlers as Readonly<Record<string, CreateHandler>>, 'handler', name)
}

/** @throws {SettingsError} when there is no such resolver. */
export function findResolver({ resolver, handler }: Settings): Resolver {
  return find(resolvers, 'resolver', resolver === '' ? (RESOLVER_OF[handler] ?? handler) : resolver)
}

export function toHandlerOptions({
  connectTimeoutMs,
  maxMessageBytes,
  webOrigins,
}: Settings): HandlerOptions {
  return { connectTimeoutMs, maxMessageBytes, origins: webOrigins }
}

function find<T>(parts: Readonly<Record<string, T>>, what: string, name: string): T {
  const part = Object.hasOwn(parts, name) ? parts[name] : undefined
  if (part !== undefined) return part
  const names = Object.keys(parts)
  const meant = suggest(name, names)
  const hint = meant === undefined ? '' : `, did you mean ${meant}?`
  throw new SettingsError([
    `${what} ${name} is not part of this version, which has ${names.join(', ')}${hint}`,
  ])
}
