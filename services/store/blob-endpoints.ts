import { Type } from '../../core/schema.ts'
import type { Store } from '../../domain/store/store.ts'
import type { AccountChecks } from '../../sdk/auth/account-checks.ts'
import type { Context } from '../../sdk/context.ts'
import { badRequest } from '../../sdk/errors.ts'
import { toNamespace } from '../../sdk/namespace.ts'
import { Bytes } from '../../sdk/schema/schema-types.ts'
import { type Endpoints, endpoint } from '../../sdk/service/endpoint.ts'
import { type Blobs, toBlobTables } from './blobs.ts'
import { BlobListing, BlobOptions, Key, KeyPart } from './messages.ts'
import { requireDatabase } from './named-database.ts'

const ID = 'store.BlobStore.Write'
const IN_OPTIONS = 'request.options.namespace'
const Part = Bytes({ default: '', description: 'Next chunk; base64 in JSON.' })

/**
 * Endpoints of the `BlobStore` handler (reference 4), which streams values of any length. Available to administrators
 * and `service` accounts of the namespace.
 */
export function createBlobEndpoints(
  store: Store,
  blobs: Blobs,
  { mustBeViewer, mustBeService }: AccountChecks,
): Endpoints {
  const namespaceOf = (options: { readonly namespace: string }, ctx: Context): string => {
    const id = `store.${ctx.endpoint}`
    const namespace = options.namespace || toNamespace(ctx, id)
    // All services share the keys of the namespace, so workloads have no access.
    mustBeViewer(ctx, namespace, id)
    mustBeService(ctx, namespace, id)
    return namespace
  }
  return {
    read: endpoint({
      readOnly: true,
      description: 'Streams a blob in chunks; the first message describes it.',
      request: Type.Object({ key: Key, options: BlobOptions }),
      response: Type.Object({
        blob: Part,
        content_type: Type.Optional(Type.String()),
        public: Type.Optional(Type.Boolean()),
        size: Type.Optional(Type.Integer({ description: 'Total size in bytes.' })),
      }),
      stream: 'server',
      async *handle({ key, options }, ctx) {
        const namespace = namespaceOf(options, ctx)
        const { parts, contentType, isPublic, bytes } = await blobs
          .read(namespace, key)
          .catch(async (error: unknown) => {
            await requireDatabase(store, options.namespace, IN_OPTIONS, ctx)
            throw error
          })
        yield { blob: new Uint8Array(0), content_type: contentType, public: isPublic, size: bytes }
        for await (const blob of parts) yield { blob }
      },
    }),

    write: endpoint({
      description:
        'Writes a blob from the received chunks; the first message sets key and options.',
      request: Type.Object({ key: Type.Optional(KeyPart), options: BlobOptions, blob: Part }),
      response: Type.Object({ size: Type.Integer({ description: 'Bytes written.' }) }),
      stream: 'client',
      async handle(requests, ctx) {
        const messages = requests[Symbol.asyncIterator]()
        const { done, value: first } = await messages.next()
        if (done === true || !first.key) throw badRequest(ID, 'request.key must not be empty')
        const { key, options } = first
        const parts = (async function* () {
          yield first.blob
          for (let next = await messages.next(); next.done !== true; next = await messages.next())
            yield next.value.blob
        })()
        const details = { contentType: options.content_type, isPublic: options.public }
        return { size: await blobs.write(namespaceOf(options, ctx), key, details, parts) }
      },
    }),

    delete: endpoint({
      description: 'Deletes a blob, if it exists.',
      request: Type.Object({ key: Key, options: BlobOptions }),
      response: Type.Object({}),
      async handle({ key, options }, ctx) {
        await blobs.delete(namespaceOf(options, ctx), key)
        return {}
      },
    }),

    list: endpoint({
      readOnly: true,
      description: 'Lists the keys of blobs, paginated.',
      request: Type.Object({ options: BlobListing }),
      response: Type.Object({
        keys: Type.Array(Type.String()),
        next: Type.Optional(
          Type.String({ description: 'Cursor of the next page; absent on the last page.' }),
        ),
      }),
      async handle({ options }, ctx) {
        const { prefix, limit, after } = options
        const { heads } = toBlobTables(namespaceOf(options, ctx))
        const query = { prefix, limit, keysOnly: true, ...(after !== '' && { after }) }
        const { records, next } = await store.list(heads, query, ctx.signal)
        if (records.length === 0) await requireDatabase(store, options.namespace, IN_OPTIONS, ctx)
        const keys = records.map(({ key }) => key)
        return next === undefined ? { keys } : { keys, next }
      },
    }),
  }
}
