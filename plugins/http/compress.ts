import type { Duplex } from 'node:stream'
import * as zlib from 'node:zlib'
import { LRUCache } from 'lru-cache'
import type { BodyChange } from '../../core/chain.ts'
import type { Exchange } from '../../core/exchange.ts'
import { acceptedCodings } from '../../core/files/content-coding.ts'
import type { HeaderList } from '../../core/http/headers.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { Type } from '../../core/schema.ts'
import { parseSize } from '../../lib/text/units.ts'
import { compileTypes } from './compress/media-types.ts'

const CODINGS = ['zstd', 'br', 'gzip'] as const
type Coding = (typeof CODINGS)[number]

/** Parts of `node:zlib` that Node.js has from version 22.15 and that the types of version 20 lack. */
const zstd = zlib as unknown as {
  readonly createZstdCompress?: (options: {
    flush: number
    params: Record<number, number>
  }) => Duplex
  readonly constants: Readonly<
    Record<'ZSTD_e_flush' | 'ZSTD_e_continue' | 'ZSTD_c_compressionLevel', number>
  >
}
const SUPPORTED: readonly Coding[] = CODINGS.filter(
  (coding) => coding !== 'zstd' || zstd.createZstdCompress !== undefined,
)
/** 256 KiB: a window of 4 MiB, the default, would need as much memory for each response. */
const BROTLI_WINDOW_BITS = 18
const MAX_GZIP_LEVEL = 9
const MAX_CACHED_CHOICES = 200

const options = Type.Object({
  encodings: Type.Array(
    Type.Union([Type.Literal('zstd'), Type.Literal('br'), Type.Literal('gzip')]),
    {
      default: [...CODINGS],
      description:
        'Content codings to offer; the first one wins if the client accepts several equally. zstd requires Node.js 22.15.',
    },
  ),
  min: Type.Union([Type.String(), Type.Integer({ minimum: 0 })], {
    default: '1kb',
    description: 'Minimum size of a response. Responses of unknown length are always compressed.',
  }),
  types: Type.Array(Type.String(), {
    default: [
      ...['text/*', 'application/json', '*+json', 'application/xml', '*+xml'],
      ...['application/javascript', 'application/x-ndjson', 'application/yaml', 'application/wasm'],
    ],
    description:
      'Media types to compress: exact, text/* or *+json. text/event-stream only if listed by its full name.',
  }),
  level: Type.Integer({
    default: 4,
    minimum: 1,
    maximum: 11,
    description: 'Compression level, 1 (fast) to 11 (small; gzip: 9).',
  }),
  max_streams: Type.Integer({
    default: 100,
    minimum: 1,
    maximum: 10_000,
    description:
      'Maximum number of responses compressed at once per worker; others are sent as is.',
  }),
})

/**
 * Compresses responses with the best coding that the client accepts (RFC 9110 §12.5.3). Does not change encoded
 * and partial responses, or responses with `no-transform`. Chunks of a stream are sent without delay.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'compress',
  description: 'Compresses responses with zstd, brotli or gzip.',
  options,
  scopes: ['gateway', 'service', 'route', 'consumer', 'endpoint'],
  create({ encodings, min, types, level, max_streams: maxStreams }) {
    const codings = encodings.filter((coding) => SUPPORTED.includes(coding))
    const minBytes = parseMin(min)
    const isCompressible = compileTypes(types)
    /** Coding by `Accept-Encoding`; an empty string for none. */
    const choices = new LRUCache<string, Coding | ''>({ max: MAX_CACHED_CHOICES })
    let streams = 0

    function choose(accepted: string): Coding | '' {
      const known = choices.get(accepted)
      if (known !== undefined) return known
      const coding = acceptedCodings(accepted, codings)[0] ?? ''
      choices.set(accepted, coding)
      return coding
    }

    function open(coding: Coding, flushes: boolean): Duplex {
      const stream = createStream(coding, level, flushes)
      streams++
      stream.once('close', () => streams--)
      return stream
    }

    /** Shared by all responses, complete and streamed ones. */
    const changes = new Map(
      codings.map((coding) => [
        coding,
        [false, true].map((flushes) => ({ coding, createStream: () => open(coding, flushes) })),
      ]),
    )

    return {
      onReplyBody(x, length): BodyChange | undefined {
        const { status, replyHeaders } = x
        if (status === 304) return weakenEtag(x)
        if (length >= 0 && length < minBytes) return undefined
        if (!isCompressible(replyHeaders.get('content-type'))) return undefined
        if (isEncoded(replyHeaders) || hasNoTransform(replyHeaders)) return undefined
        addVary(replyHeaders)
        if (streams >= maxStreams || hasNoTransform(x.headers)) return undefined
        const coding = choose(x.headers.getAll('accept-encoding').join(','))
        return coding === '' ? undefined : changes.get(coding)![length < 0 ? 1 : 0]
      },
    }
  },
})

export default plugin

function parseMin(text: string | number): number {
  try {
    return parseSize(text)
  } catch (error) {
    throw new RangeError(`min ${(error as Error).message}`, { cause: error })
  }
}

/** @param flushes whether each chunk is sent immediately, for responses that may pause between two chunks. */
function createStream(coding: Coding, level: number, flushes: boolean): Duplex {
  const { constants } = zlib
  switch (coding) {
    case 'gzip':
      return zlib.createGzip({
        level: Math.min(level, MAX_GZIP_LEVEL),
        flush: flushes ? constants.Z_SYNC_FLUSH : constants.Z_NO_FLUSH,
      })
    case 'br':
      return zlib.createBrotliCompress({
        flush: flushes ? constants.BROTLI_OPERATION_FLUSH : constants.BROTLI_OPERATION_PROCESS,
        params: {
          [constants.BROTLI_PARAM_QUALITY]: level,
          [constants.BROTLI_PARAM_LGWIN]: BROTLI_WINDOW_BITS,
        },
      })
    case 'zstd':
      return zstd.createZstdCompress!({
        flush: flushes ? zstd.constants.ZSTD_e_flush : zstd.constants.ZSTD_e_continue,
        params: { [zstd.constants.ZSTD_c_compressionLevel]: level },
      })
  }
}

/** Sets the entity tag of a 304 to the tag of the compressed response that the client has stored. */
function weakenEtag({ headers, replyHeaders }: Exchange): undefined {
  const tag = replyHeaders.get('etag')
  if (tag !== undefined && headers.get('if-none-match')?.includes(`W/${tag}`) === true)
    replyHeaders.set('etag', `W/${tag}`)
}

function isEncoded(headers: HeaderList): boolean {
  const coding = headers.get('content-encoding')
  return coding !== undefined && coding !== '' && coding.toLowerCase() !== 'identity'
}

function hasNoTransform(headers: HeaderList): boolean {
  return headers.get('cache-control')?.toLowerCase().includes('no-transform') === true
}

function addVary(headers: HeaderList): void {
  const names = headers.getAll('vary').join(',').toLowerCase().split(',')
  if (!names.some((name) => name.trim() === '*' || name.trim() === 'accept-encoding'))
    headers.append('vary', 'accept-encoding')
}
