import { Type } from '../../core/schema.ts'
import type { AccountCheck, AccountChecks } from '../../sdk/auth/account-checks.ts'
import { badRequest, unavailable } from '../../sdk/errors.ts'
import { type Endpoints, endpoint } from '../../sdk/service/endpoint.ts'
import { requireLocal } from './endpoints.ts'
import { readBuildOutput } from './jobs/build-output.ts'
import type { Folders } from './jobs/folders.ts'
import { toUploadedSource } from './jobs/prepare.ts'
import { Data, idOf, NamespaceOptionsSchema, namespaceOf, ServiceIdSchema } from './messages.ts'
import { LATEST } from './names.ts'
import type { Reconciler } from './reconciler.ts'
import type { Uploads } from './sources/uploads.ts'
import type { Objects } from './state/objects.ts'
import { type ServiceRecord, toObjectKey } from './state/records.ts'
import { STOPPING } from './watches.ts'

export interface SourceEndpointsOptions {
  readonly objects: Objects
  readonly uploads: Uploads
  readonly reconciler: Reconciler
  readonly folders: Folders
  /** Returns whether this server manages an object. */
  readonly owns: (record: ServiceRecord) => boolean
  readonly checks: AccountChecks
  readonly checkRun: AccountCheck
  /** Aborts followed build outputs. */
  readonly ending: AbortSignal
}

/** Endpoints of the `Source` handler (reference 7.1) for administrators of the namespace. */
export function createSourceEndpoints(options: SourceEndpointsOptions): Endpoints {
  const { objects, uploads, owns, checkRun } = options
  return {
    upload: endpoint({
      description:
        'Uploads the source of a service as a tar archive, optionally gzipped, in chunks. The first message sets service and options. Run the service with the returned id as its source.',
      idempotent: false,
      request: Type.Object({
        service: ServiceIdSchema,
        options: NamespaceOptionsSchema,
        data: Data,
      }),
      response: Type.Object({ id: Type.String({ description: 'Source of the service to run.' }) }),
      stream: 'client',
      async handle(requests, ctx) {
        const errorId = idOf(ctx)
        const messages = requests[Symbol.asyncIterator]()
        const { done, value: first } = await messages.next()
        if (done === true || first.service.name === '')
          throw badRequest(errorId, 'request.service.name is missing in the first message')
        const { name, version } = first.service
        const namespace = namespaceOf(first.options, ctx)
        checkRun(ctx, namespace, errorId)
        const key = { namespace, name, version: version || LATEST }
        const existing = await objects.read(key)
        if (existing !== undefined) requireLocal(existing, owns, errorId)
        const parts = (async function* () {
          yield first.data
          for (let next = await messages.next(); next.done !== true; next = await messages.next())
            yield next.value.data
        })()
        await uploads.take(key, parts, ctx.signal)
        return { id: toUploadedSource(key) }
      },
    }),
  }
}

/** Endpoints of the `Build` handler (reference 7.1) for administrators of the namespace. */
export function createBuildEndpoints(options: SourceEndpointsOptions): Endpoints {
  const { objects, reconciler, folders, owns, checks, ending } = options
  return {
    read: endpoint({
      readOnly: true,
      description: 'Streams the output of the last build of a service.',
      request: Type.Object({ service: ServiceIdSchema, options: NamespaceOptionsSchema }),
      response: Type.Object({ data: Data }),
      stream: 'server',
      async *handle({ service, options }, ctx) {
        const namespace = namespaceOf(options, ctx)
        checks.mustBeAdmin(ctx, namespace, idOf(ctx))
        const record = await objects.find(namespace, service, idOf(ctx))
        requireLocal(record, owns, idOf(ctx))
        const deployment = reconciler.deployment(toObjectKey(record))
        const isInProgress = deployment?.requestId === record.asked.id
        const parts = isInProgress
          ? (await deployment.output).read(AbortSignal.any([ctx.signal, ending]))
          : readBuildOutput(folders.output(record, record.asked.id))
        ctx.start()
        for await (const data of parts) yield { data }
        if (isInProgress && ending.aborted) throw unavailable(idOf(ctx), STOPPING)
      },
    }),
  }
}
