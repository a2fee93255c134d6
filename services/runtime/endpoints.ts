import type { Runtime } from '../../core/contracts/runtime.ts'
import { Type } from '../../core/schema.ts'
import type { AccountCheck, AccountChecks } from '../../sdk/auth/account-checks.ts'
import type { Context } from '../../sdk/context.ts'
import { badRequest, unavailable } from '../../sdk/errors.ts'
import { type Endpoints, endpoint } from '../../sdk/service/endpoint.ts'
import {
  idOf,
  Lines,
  LogLineView,
  NamespaceOptionsSchema,
  namespaceOf,
  Options,
  type ReadOptions,
  ReadOptionsSchema,
  Resource,
  type ResourceMessage,
  type RunOptions,
  RuntimeServiceView,
  ServiceName,
  ServiceVersion,
  Since,
} from './messages.ts'
import type { Operations, Order } from './operations.ts'
import type { Objects } from './state/objects.ts'
import type { ServiceRecord } from './state/records.ts'
import type { Servers } from './state/servers.ts'
import { toServiceMessage, toUnavailableMessage, toUnreadMessage } from './to-message.ts'
import { STOPPING, type Watches } from './watches.ts'

/** An audited action on an object. */
export type Action = 'service.created' | 'service.updated' | 'service.deleted'

export interface RuntimeEndpointsOptions {
  readonly operations: Operations
  readonly objects: Objects
  readonly watches: Watches
  /** Aborts followed logs. */
  readonly ending: AbortSignal
  readonly runtime: Runtime
  readonly servers: Servers
  readonly nowMs: () => number
  /** Returns whether this server manages an object. */
  readonly owns: (record: ServiceRecord) => boolean
  readonly checks: AccountChecks
  /** Checks whether a caller may run programs. */
  readonly checkRun: AccountCheck
  /** Called after each accepted change. */
  readonly onChange: (ctx: Context, action: Action, record: ServiceRecord) => void
}

const NONE = Type.Object({})

/**
 * Endpoints of the `Runtime` handler (reference 7.1). Members may read; administrators of the namespace may also write
 * (reference 2.2).
 */
export function createRuntimeEndpoints(options: RuntimeEndpointsOptions): Endpoints {
  const { operations, objects, watches, runtime, servers, nowMs, owns, checks, onChange } = options
  const { checkRun } = options
  const { ending } = options

  /** Returns undefined for a resource that this runtime does not manage. */
  const toOrder = (
    { resource, options }: { readonly resource: ResourceMessage; readonly options: RunOptions },
    ctx: Context,
    check: AccountCheck,
  ): Order | undefined => {
    const errorId = idOf(ctx)
    const namespace = namespaceOf(options, ctx)
    check(ctx, namespace, errorId)
    const { service, ...otherFields } = resource
    const { account } = ctx
    if (service !== undefined) return { namespace, service, options, account, errorId }
    if (Object.keys(otherFields).length > 0) return undefined
    throw badRequest(errorId, 'request.resource.service is missing')
  }
  const readable = (options: ReadOptions, ctx: Context): string => {
    const namespace = namespaceOf(options, ctx)
    checks.mustBeViewer(ctx, namespace, idOf(ctx))
    return namespace
  }

  return {
    create: endpoint({
      description:
        'Runs a service. Returns once the request is accepted; watch the service for its state. Ignores other types of resources.',
      idempotent: false,
      request: Type.Object({ resource: Resource, options: Options }),
      response: NONE,
      async handle(request, ctx) {
        const order = toOrder(request, ctx, checkRun)
        if (order === undefined) return {}
        const { record, isNew } = await operations.create(order)
        onChange(ctx, isNew ? 'service.created' : 'service.updated', record)
        return {}
      },
    }),

    read: endpoint({
      readOnly: true,
      description: 'Lists the services of the runtime, sorted by name.',
      request: Type.Object({ options: ReadOptionsSchema }),
      response: Type.Object({ services: Type.Array(RuntimeServiceView) }),
      async handle({ options }, ctx) {
        const namespace = readable(options, ctx)
        const { service, version, type } = options
        const objectRecords = await objects.list(namespace, service || undefined, ctx.signal)
        const isSelected = (one: { readonly version: string; readonly type?: string }) =>
          (version === '' || one.version === version) && (type === '' || one.type === type)
        const isElsewhere = !objectRecords.records.every(owns)
        const unavailable = isElsewhere ? await servers.findUnreachable(ctx.signal) : undefined
        const toMessage = (record: ServiceRecord) => {
          const seenMs = owns(record) ? undefined : unavailable?.get(record.server)
          const message = toServiceMessage(record)
          return seenMs === undefined
            ? message
            : toUnavailableMessage(message, record.server, nowMs() - seenMs)
        }
        return {
          services: [
            ...objectRecords.records.filter(isSelected).map(toMessage),
            ...objectRecords.unread.filter(isSelected).map(toUnreadMessage),
          ],
        }
      },
    }),

    update: endpoint({
      description:
        'Rebuilds a service from the current source and applies the specified options; omitted options keep their values. Old instances serve requests until the new ones are ready.',
      idempotent: false,
      request: Type.Object({
        resource: Resource,
        options: Options,
        rollback: Type.Boolean({
          default: false,
          description: 'Rolls back to the revision before the last update.',
        }),
      }),
      response: NONE,
      async handle(request, ctx) {
        const order = toOrder(request, ctx, checkRun)
        if (order === undefined) return {}
        const record = await operations.update(order, request.rollback)
        onChange(ctx, 'service.updated', record)
        return {}
      },
    }),

    delete: endpoint({
      description: 'Stops and deletes a service. Returns once all its instances have ended.',
      idempotent: false,
      request: Type.Object({ resource: Resource, options: Options }),
      response: NONE,
      async handle(request, ctx) {
        const order = toOrder(request, ctx, checks.mustBeAdmin)
        if (order === undefined) return {}
        onChange(ctx, 'service.deleted', await operations.remove(order))
        return {}
      },
    }),

    watch: endpoint({
      readOnly: true,
      description:
        'Streams the services of the runtime, then each change. The stream ends if a service is specified that does not exist or is deleted.',
      request: Type.Object({ options: ReadOptionsSchema }),
      response: Type.Object({
        action: Type.Union([Type.Literal('write'), Type.Literal('delete')]),
        service: RuntimeServiceView,
      }),
      stream: 'server',
      handle({ options }, ctx) {
        return watches.open(readable(options, ctx), options, idOf(ctx), ctx)
      },
    }),

    logs: endpoint({
      readOnly: true,
      description: 'Streams the logs of the instances of a service.',
      request: Type.Object({
        service: ServiceName,
        version: ServiceVersion,
        stream: Type.Boolean({ default: false, description: 'Follow new lines.' }),
        count: Lines,
        since: Since,
        options: NamespaceOptionsSchema,
      }),
      response: LogLineView,
      stream: 'server',
      async *handle({ service, version, stream, count, since, options }, ctx) {
        const namespace = namespaceOf(options, ctx)
        checks.mustBeAdmin(ctx, namespace, idOf(ctx))
        if (service === '') throw badRequest(idOf(ctx), 'request.service is missing')
        const record = await objects.find(namespace, { name: service, version }, idOf(ctx))
        requireLocal(record, owns, idOf(ctx))
        const lines = runtime.logs(record, {
          ...(count > 0 && { lines: count }),
          ...(since > 0 && { sinceMs: since * 1000 }),
          ...{
            follow: stream,
            signal: stream ? AbortSignal.any([ctx.signal, ending]) : ctx.signal,
          },
        })
        ctx.start()
        for await (const { timestampMs, instance, stream, text } of lines)
          yield { timestamp: timestampMs, metadata: { instance, stream }, message: text }
        if (stream && ending.aborted) throw unavailable(idOf(ctx), STOPPING)
      },
    }),
  }
}

export function requireLocal(
  record: ServiceRecord,
  owns: (record: ServiceRecord) => boolean,
  errorId: string,
): void {
  if (owns(record)) return
  throw unavailable(errorId, `the service runs on server ${record.server}; send the request there`)
}
