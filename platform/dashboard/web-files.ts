import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findRoot } from '../process/version.ts'

/** A file of the front end. */
export interface WebFile {
  readonly type: string
  readonly body: Uint8Array
  /** `Content-Encoding`; undefined for identity. */
  readonly encoding: string | undefined
}

/** Files of the built front end. */
export interface WebFiles {
  /** @param name relative path. @param accepted value of `Accept-Encoding`. @returns undefined if not found. */
  readonly find: (name: string, accepted: string | undefined) => Promise<WebFile | undefined>
  /** Uncached contents; undefined if not found. */
  readonly read: (name: string) => Promise<Buffer | undefined>
}

interface CachedFile {
  readonly type: string
  /** Smallest first. */
  readonly variants: readonly Omit<WebFile, 'type'>[]
}

/** Excludes parent folders and hidden files. */
const NAME = /^(?:assets\/)?[A-Za-z0-9_-][\w.-]*\.([a-z0-9]+)$/
const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  ico: 'image/x-icon',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  map: 'application/json',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
  webmanifest: 'application/manifest+json',
  woff2: 'font/woff2',
}
/** Suffixes of precompressed files by encoding. */
const COMPRESSED: readonly (readonly [encoding: string, end: string])[] = [
  ['br', '.br'],
  ['gzip', '.gz'],
]

/** Opens a folder; files are cached on first use. */
export function openWebFiles(folder: string): WebFiles {
  const cache = new Map<string, CachedFile>()

  async function load(name: string): Promise<CachedFile | undefined> {
    const end = NAME.exec(name)?.[1] ?? ''
    const type = Object.hasOwn(TYPES, end) ? TYPES[end] : undefined
    if (type === undefined) return undefined
    const cached = cache.get(name)
    if (cached !== undefined) return cached
    const body = await read(name)
    if (body === undefined) return undefined
    const compressed = COMPRESSED.map(async ([encoding, end]) => {
      const body = await read(name + end)
      return body === undefined ? [] : [{ encoding, body }]
    })
    const variants = [...(await Promise.all(compressed)).flat(), { encoding: undefined, body }]
    const file = { type, variants }
    cache.set(name, file)
    return file
  }

  async function read(name: string): Promise<Buffer | undefined> {
    try {
      return await readFile(join(folder, name))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return undefined
      throw error
    }
  }

  return {
    async find(name, accepted = '') {
      const file = await load(name)
      if (file === undefined) return undefined
      const { type, variants } = file
      const variant = variants.find(
        ({ encoding }) => encoding === undefined || accepts(accepted, encoding),
      )!
      return { type, ...variant }
    },
    read,
  }
}

/** Folder of the built front end. */
export function findFolder(): string {
  return join(findRoot(), 'dist/dashboard')
}

/** Whether `Accept-Encoding` lists an encoding without `q=0` (RFC 9110 §12.5.3). */
function accepts(accepted: string, encoding: string): boolean {
  return accepted.split(',').some((each) => {
    const [name = '', weight = ''] = each.split(';', 2)
    return name.trim().toLowerCase() === encoding && !/^\s*q=0(?:\.0*)?\s*$/i.test(weight)
  })
}
