import { Type } from '../../core/schema.ts'
import type { Store } from '../../core/store/store.ts'
import { type Endpoints, endpoint } from '../../sdk/endpoint.ts'
import { badRequest } from '../../sdk/errors.ts'
import { Bytes } from '../../sdk/schema-types.ts'
import { type Blobs, toBlobTables } from './blobs.ts'
import { BlobListing, BlobOptions, DEFAULT_NAME, Key, KeyPart } from './messages.ts'

const ID = 'store.BlobStore.Write'
const Part = Bytes({ default: '', description: 'Next bytes; base64 in JSON.' })

/** What the handler `BlobStore` offers (reference 4): values of any length, as streams. */
export function createBlobEndpoints(store: Store, blobs: Blobs): Endpoints {
  return {
    read: endpoint({
      description: 'A blob, in parts; the first says what it is.',
      request: Type.Object({ key: Key, options: BlobOptions }),
      response: Type.Object({
        blob: Part,
        content_type: Type.Optional(Type.String()),
        public: Type.Optional(Type.Boolean()),
        size: Type.Optional(Type.Integer({ description: 'Bytes of the whole.' })),
      }),
      stream: 'server',
      async *handle({ key, options }) {
        const { parts, contentType, isPublic, bytes } = await blobs.read(
          options.namespace || DEFAULT_NAME,
          key,
        )
        yield { blob: new Uint8Array(0), content_type: contentType, public: isPublic, size: bytes }
        for await (const blob of parts) yield { blob }
      },
    }),

    write: endpoint({
      description:
        'Writes a blob of the parts that are sent; key and options are those of the first.',
      request: Type.Object({ key: Type.Optional(KeyPart), options: BlobOptions, blob: Part }),
      response: Type.Object({ size: Type.Integer({ description: 'Bytes that were written.' }) }),
      stream: 'client',
      async handle(requests) {
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
        const size = await blobs.write(options.namespace || DEFAULT_NAME, key, details, parts)
        return { size }
      },
    }),

    delete: endpoint({
      description: 'Deletes a blob; one that is not there does not matter.',
      request: Type.Object({ key: Key, options: BlobOptions }),
      response: Type.Object({}),
      async handle({ key, options }) {
        await blobs.delete(options.namespace || DEFAULT_NAME, key)
        return {}
      },
    }),

    list: endpoint({
      description: 'Keys of blobs, a page at a time.',
      request: Type.Object({ options: BlobListing }),
      response: Type.Object({
        keys: Type.Array(Type.String()),
        next: Type.Optional(Type.String({ description: 'There are more: list after this key.' })),
      }),
      async handle({ options: { namespace, prefix, limit, after } }) {
        const { heads } = toBlobTables(namespace || DEFAULT_NAME)
        const { records, next } = await store.list(heads, {
          prefix,
          limit,
          keysOnly: true,
          ...(after !== '' && { after }),
        })
        const keys = records.map(({ key }) => key)
        return next === undefined ? { keys } : { keys, next }
      },
    }),
  }
}
