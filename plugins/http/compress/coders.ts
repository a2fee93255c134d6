import type { Duplex } from 'node:stream'
import * as zlib from 'node:zlib'

export type Coding = 'zstd' | 'br' | 'gzip'

interface ZstdOptions {
  readonly flush?: number
  readonly params: Record<number, number>
}

/** Parts of `node:zlib` that Node.js has from version 22.15 and that the types of version 20 lack. */
const zstd = zlib as unknown as {
  readonly createZstdCompress?: (options: ZstdOptions) => Duplex
  readonly zstdCompressSync: (body: Uint8Array, options: ZstdOptions) => Buffer
  readonly constants: Readonly<
    Record<'ZSTD_e_flush' | 'ZSTD_e_continue' | 'ZSTD_c_compressionLevel', number>
  >
}
export const SUPPORTED: readonly Coding[] = (['zstd', 'br', 'gzip'] as const).filter(
  (coding) => coding !== 'zstd' || zstd.createZstdCompress !== undefined,
)
/** 256 KiB: a window of 4 MiB, the default, would need as much memory for each response. */
const BROTLI_WINDOW_BITS = 18
const BROTLI_WINDOW_MIN_BITS = 10
const GZIP_WINDOW_BITS = 15
const GZIP_WINDOW_MIN_BITS = 9
const GZIP_MEMORY_LEVEL = 7
const MAX_GZIP_LEVEL = 9

const { constants } = zlib

/** @param flushes whether each chunk is sent immediately, for responses that may pause between two chunks. */
export function createStream(coding: Coding, level: number, flushes: boolean): Duplex {
  switch (coding) {
    case 'gzip':
      return zlib.createGzip({
        level: Math.min(level, MAX_GZIP_LEVEL),
        flush: flushes ? constants.Z_SYNC_FLUSH : constants.Z_NO_FLUSH,
      })
    case 'br':
      return zlib.createBrotliCompress({
        flush: flushes ? constants.BROTLI_OPERATION_FLUSH : constants.BROTLI_OPERATION_PROCESS,
        params: toBrotliParams(level, BROTLI_WINDOW_BITS),
      })
    case 'zstd':
      return zstd.createZstdCompress!({
        flush: flushes ? zstd.constants.ZSTD_e_flush : zstd.constants.ZSTD_e_continue,
        params: toZstdParams(level),
      })
  }
}

/** Compresses a complete body synchronously. The window fits the body, since a larger one takes longer to allocate. */
export function compressComplete(coding: Coding, level: number, body: Uint8Array): Buffer {
  const bits = Math.ceil(Math.log2(Math.max(body.length, 1)))
  switch (coding) {
    case 'gzip':
      return zlib.gzipSync(body, {
        level: Math.min(level, MAX_GZIP_LEVEL),
        windowBits: Math.max(GZIP_WINDOW_MIN_BITS, Math.min(bits, GZIP_WINDOW_BITS)),
        memLevel: GZIP_MEMORY_LEVEL,
      })
    case 'br': {
      const windowBits = Math.max(BROTLI_WINDOW_MIN_BITS, Math.min(bits + 1, BROTLI_WINDOW_BITS))
      return zlib.brotliCompressSync(body, { params: toBrotliParams(level, windowBits) })
    }
    case 'zstd':
      return zstd.zstdCompressSync(body, { params: toZstdParams(level) })
  }
}

function toBrotliParams(level: number, windowBits: number): Record<number, number> {
  return {
    [constants.BROTLI_PARAM_QUALITY]: level,
    [constants.BROTLI_PARAM_LGWIN]: windowBits,
  }
}

function toZstdParams(level: number): Record<number, number> {
  return { [zstd.constants.ZSTD_c_compressionLevel]: level }
}
