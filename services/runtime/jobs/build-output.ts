import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Output of a build, stored in a file during and after the build. */
export interface BuildOutput {
  readonly write: (text: string) => void
  /** Ends the output and resolves once it has been written. */
  readonly end: () => Promise<void>
  /** Yields the existing output, then new output until the end. */
  readonly read: (signal: AbortSignal) => AsyncIterable<Uint8Array>
}

const PART_BYTES = 64 * 1024

/**
 * Opens the output of a build.
 *
 * @param path path of the file. An existing file is replaced.
 * @throws {Error} if the file cannot be created.
 */
export async function openBuildOutput(path: string): Promise<BuildOutput> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = createWriteStream(path, { mode: 0o600 })
  await once(file, 'open')
  const readers = new Set<() => void>()
  let written = 0
  let ended = false
  const wake = (): void => {
    for (const reader of readers) reader()
    readers.clear()
  }
  // If the disk is full, the output is lost but the build continues.
  file.on('error', wake)

  return {
    write(text) {
      const bytes = Buffer.from(text)
      file.write(bytes, (error) => {
        if (error) return
        written += bytes.length
        wake()
      })
    },

    async end() {
      if (ended) return
      await new Promise<void>((resolve) => {
        file.once('close', resolve)
        file.end()
        if (file.destroyed) resolve()
      })
      ended = true
      wake()
    },

    async *read(signal) {
      let offset = 0
      for (;;) {
        const isLast = ended
        for await (const part of readPart(path, offset, written)) {
          offset += part.length
          yield part
        }
        if (isLast || signal.aborted) return
        if (offset < written || ended) continue
        await new Promise<void>((resolve) => {
          const go = (): void => {
            signal.removeEventListener('abort', go)
            resolve()
          }
          readers.add(go)
          signal.addEventListener('abort', go)
        })
      }
    },
  }
}

/** Yields the output of a finished build. Yields nothing if its file does not exist. */
export async function* readBuildOutput(path: string): AsyncIterable<Uint8Array> {
  try {
    yield* readPart(path, 0, Number.POSITIVE_INFINITY)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

async function* readPart(path: string, from: number, to: number): AsyncIterable<Uint8Array> {
  if (from >= to) return
  const file = await open(path)
  try {
    for (let offset = from; offset < to; ) {
      const length = Math.min(PART_BYTES, to - offset)
      const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, offset)
      if (bytesRead === 0) return
      offset += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}
