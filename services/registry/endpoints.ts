import type { Quota } from '../../core/limits/quota.ts'
import { isReservedName } from '../../core/registry/built-in-services.ts'
import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { Type } from '../../core/schema.ts'
import type { AccountChecks } from '../../sdk/auth/account-checks.ts'
import type { Context } from '../../sdk/context.ts'
import { badRequest, notFound, notImplemented } from '../../sdk/errors.ts'
import { type Endpoints, endpoint } from '../../sdk/service/endpoint.ts'
import { ALL_DOMAINS, type Domain, type Domains } from './domains.ts'
import { toEntry, toService } from './entry.ts'
import { type ReportOmitted, truncateToMessage } from './fit-message.ts'
import {
  checkNodes,
  checkSize,
  MAX_PAGE,
  SERVICE_NAME,
  SERVICE_NAME_OR_EMPTY,
  TTL_SECONDS,
} from './limits.ts'
import { Entries, Entry, Options, RegisterInput } from './messages.ts'
import type { CheckAddresses } from './nodes/check-addresses.ts'
import { checkLetterCase } from './nodes/letter-case.ts'
import { createOwnerChanges, withOwner } from './nodes/node-owner.ts'
import { rejectBuiltInNodes } from './nodes/protect-built-ins.ts'
import { readPage } from './page.ts'
import { queryRegistry } from './query.ts'
import { checkRoom } from './quota.ts'
import { compareServices } from './sorted-list.ts'
import type { Watches } from './watches.ts'

/**
 * Endpoints of the registry (specification: Registry endpoints). Services of the default domain are
 * public; services of other domains are visible to members of their namespaces (reference 15.15).
 * Services register themselves; operators register the services of the platform.
 *
 * @param quota quota of nodes per namespace.
 * @param ownAddress address of built-in services in this process; undefined if there are no such
 * services.
 * @param checkAddresses checks the addresses of registered nodes.
 */
export function createEndpoints(
  domains: Domains,
  watches: Watches,
  onOmit: ReportOmitted,
  { mustBeMember, mustBeService, mustBeOperator }: AccountChecks,
  ownAddress: string | undefined,
  checkAddresses: CheckAddresses,
  quota: Quota,
): Endpoints {
  const changeAsOwner = createOwnerChanges()
  /** Returns the domain to read from. */
  const readable = (options: { readonly domain: string }, ctx: Context): string => {
    const domain = toDomain(options)
    if (domain === ALL_DOMAINS) mustBeOperator(ctx, idOf(ctx))
    else if (domain !== DEFAULT_DOMAIN) mustBeMember(ctx, domain, idOf(ctx))
    return domain
  }
  /** Returns the domain to write to. */
  const writable = (
    { name, options }: { readonly name: string; readonly options: { readonly domain: string } },
    ctx: Context,
  ): string => {
    const domain = toOneDomain(options, idOf(ctx))
    mustBeService(ctx, domain, idOf(ctx), name)
    // A service named `auth` would receive the secrets of all accounts that log in.
    if (isReservedName(name)) mustBeOperator(ctx, idOf(ctx))
    return domain
  }
  return {
    getService: endpoint({
      readOnly: true,
      description: 'Returns all versions of a service with their nodes.',
      request: Type.Object({
        service: Type.Refine(Type.String(), ...SERVICE_NAME),
        options: Options,
      }),
      response: Type.Object({ services: Entries }),
      async handle({ service, options }, ctx) {
        const id = idOf(ctx)
        const queries = domains.select(readable(options, ctx)).map(async ({ name, registry }) => {
          const versions = await queryRegistry(registry, id, () => registry.getService(service))
          return [...versions].sort(compareServices).map((version) => toEntry(version, name))
        })
        const services = (await Promise.all(queries)).flat()
        if (services.length === 0) throw notFound(id, `service not found: ${service}`)
        return { services: truncateToMessage(services, onOmit) }
      },
    }),

    listServices: endpoint({
      readOnly: true,
      description: 'Lists all versions of all services, paginated.',
      request: Type.Object({
        options: Options,
        limit: Type.Integer({
          minimum: 0,
          maximum: MAX_PAGE,
          default: 0,
          description: `Page size; 0 for ${MAX_PAGE}.`,
        }),
        after: Type.String({
          default: '',
          description: 'Cursor, taken from next of the previous page.',
        }),
      }),
      response: Type.Object({ services: Entries, next: Type.Optional(Type.String()) }),
      handle({ options, limit, after }, ctx) {
        const page = { limit: limit || MAX_PAGE, after }
        return readPage(domains.select(readable(options, ctx)), page, onOmit, idOf(ctx))
      },
    }),

    register: endpoint({
      description: 'Registers nodes of a version of a service; registering again renews their TTL.',
      request: RegisterInput,
      response: Type.Object({}),
      async handle(entry, ctx) {
        const id = idOf(ctx)
        const name = writable(entry, ctx)
        const registered = withOwner(toService(entry), ctx.account)
        checkSize(registered, id)
        checkNodes(registered, id)
        const service = await checkAddresses(registered, name, ctx, id)
        const domain = domains.open(name, id)
        const { registry } = domain
        const { register } = registry
        if (register === undefined) throw isFixed(domain, id)
        const ttlSeconds = entry.options.ttl || TTL_SECONDS
        await changeAsOwner(service, { registry, namespace: name }, ctx, id, () => {
          // Does not await before the registration, because concurrent registrations could exceed
          // the quota.
          checkLetterCase(domain, service, id)
          checkRoom(domain, service, id, quota)
          return queryRegistry(registry, id, () => register(service, { ttlSeconds }))
        })
        return {}
      },
    }),

    deregister: endpoint({
      description: 'Removes nodes of a version of a service; unknown nodes are ignored.',
      request: RegisterInput,
      response: Type.Object({}),
      async handle(entry, ctx) {
        const id = idOf(ctx)
        const name = writable(entry, ctx)
        const service = toService(entry)
        if (service.nodes.length === 0)
          throw badRequest(id, 'request.nodes must list at least one node to remove')
        for (const domain of domains.select(name)) {
          const { registry } = domain
          const { deregister } = registry
          if (deregister === undefined) throw isFixed(domain, id)
          await rejectBuiltInNodes(service, registry, ownAddress, id)
          await changeAsOwner(service, { registry, namespace: name }, ctx, id, () =>
            queryRegistry(registry, id, () => deregister(service)),
          )
        }
        return {}
      },
    }),

    watch: endpoint({
      readOnly: true,
      description: 'Streams all further changes. The stream starts immediately.',
      request: Type.Object({
        service: Type.Refine(
          Type.String({ default: '', description: 'Full name; empty for all services.' }),
          ...SERVICE_NAME_OR_EMPTY,
        ),
        options: Options,
      }),
      response: Type.Object({
        action: Type.Union([
          Type.Literal('create'),
          Type.Literal('update'),
          Type.Literal('delete'),
        ]),
        service: Entry,
        timestamp: Type.Integer({ description: 'Seconds since 1970.' }),
      }),
      stream: 'server',
      handle({ service, options }, ctx) {
        const caller = ctx.account?.issuer ?? ''
        const events = watches.open(readable(options, ctx), service, caller, idOf(ctx))
        ctx.start()
        return events
      },
    }),
  }
}

/**
 * Returns the id used in errors (reference 6), such as `registry.Registry.GetService`, without the
 * caller's namespace prefix.
 */
function idOf(ctx: Context): string {
  return `registry.${ctx.endpoint}`
}

function toDomain({ domain }: { readonly domain: string }): string {
  return domain === '' ? DEFAULT_DOMAIN : domain
}

/** Returns the domain to write to. */
function toOneDomain(options: { readonly domain: string }, id: string): string {
  const domain = toDomain(options)
  if (domain === ALL_DOMAINS)
    throw badRequest(id, 'request.options.domain must be one domain, got "*"')
  return domain
}

function isFixed({ registry }: Domain, id: string): Error {
  return notImplemented(id, `the registry ${registry.name} is read-only`)
}
