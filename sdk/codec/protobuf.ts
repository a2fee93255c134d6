import { fileURLToPath } from 'node:url'
import type { Type } from 'protobufjs'
import type { TUnsafe } from '../../core/schema.ts'
import {
  type MessageCodec,
  type ProtobufMessage,
  protobufMessage,
  type Schema,
} from '../schema/schema.ts'
import { compileReader, compileWriter, type WellKnownJson } from './protobuf-convert.ts'
import { toMessageSchema } from './protobuf-schema.ts'

/** Messages of `.proto` files. */
export interface ProtoFile {
  /**
   * A message by its full name, for `request` or `response` of an endpoint, which then accepts JSON and protobuf. The
   * schema is derived from the message; `T` is its TypeScript type.
   *
   * @throws {TypeError} for an unknown message.
   */
  message<T = Record<string, unknown>>(name: string): ProtobufMessage<TUnsafe<T>>
  /** A message with a custom schema for validation and types, which must describe the JSON form of the message. */
  message<S extends Schema>(name: string, schema: S): ProtobufMessage<S>
}

/**
 * Loads `.proto` files and their imports, relative or well-known.
 *
 * ```ts
 * const proto = await loadProto(new URL('helloworld.proto', import.meta.url))
 * endpoint({ request: proto.message('helloworld.Request', Request), ... })
 * ```
 *
 * Field names are as in the file, including in JSON. Loads protobufjs on demand.
 *
 * @throws {Error} when a file is missing or invalid.
 */
export async function loadProto(
  file: string | URL | readonly (string | URL)[],
): Promise<ProtoFile> {
  const [{ default: protobuf }, { default: wellKnown }] = await Promise.all([
    import('protobufjs'),
    import('protobufjs/ext/protojson.js'),
  ])
  const paths = (Array.isArray(file) ? file : [file]).map((path: string | URL) =>
    path instanceof URL ? fileURLToPath(path) : path,
  )
  const root = new protobuf.Root()
  try {
    await root.load(paths, { keepCase: true })
    root.resolveAll()
  } catch (cause) {
    throw new Error(`cannot read ${paths.join(', ')}: ${(cause as Error).message}`, { cause })
  }
  return {
    message(name: string, schema?: Schema) {
      const messageType = root.lookup(name, [protobuf.Type]) as Type | null
      // The library also resolves partial names, to the first of several matches.
      if (messageType?.fullName !== `.${name}`)
        throw new TypeError(`there is no message ${name} in ${paths.join(', ')}`)
      return protobufMessage(
        schema ?? toMessageSchema(messageType),
        createMessageCodec(messageType, wellKnown as WellKnownJson),
      ) as never
    },
  }
}

function createMessageCodec(type: Type, wellKnown: WellKnownJson): MessageCodec {
  const read = compileReader(type, wellKnown)
  const write = compileWriter(type, wellKnown)
  return {
    decode: (bytes) => read(type.decode(bytes)),
    encode: (value) => type.encode(write(value) as Record<string, unknown>).finish(),
  }
}
