import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findRoot } from '../process/version.ts'

/** A file as a browser gets it. */
export interface WebFile {
  readonly type: string
  readonly body: Uint8Array
  /** `Content-Encoding`; undefined: as it is. */
  readonly encoding: string | undefined
}

/** The files of a front end that was built. */
export interface WebFiles {
  /** @param name below the folder. @param accepted value of `Accept-Encoding`. @returns undefined: there is none. */
  readonly find: (name: string, accepted: string | undefined) => Promise<WebFile | undefined>
  /** A file as it is at the moment; undefined: there is none. */
  readonly read: (name: string) => Promise<Buffer | undefined>
}

interface KnownFile {
  readonly type: string
  /** The shortest first. */
  readonly forms: readonly Omit<WebFile, 'type'>[]
}

/** Nothing above the folder, nothing hidden. */
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
/** Ends of files that the build has compressed, by their encodings. */
const COMPRESSED: readonly (readonly [encoding: string, end: string])[] = [
  ['br', '.br'],
  ['gzip', '.gz'],
]

/** Files are read once, when they are asked for first. */
export function openWebFiles(folder: string): WebFiles {
  const known = new Map<string, KnownFile>()

  async function load(name: string): Promise<KnownFile | undefined> {
    const end = NAME.exec(name)?.[1] ?? ''
    const type = Object.hasOwn(TYPES, end) ? TYPES[end] : undefined
    if (type === undefined) return undefined
    const found = known.get(name)
    if (found !== undefined) return found
    const body = await read(name)
    if (body === undefined) return undefined
    const compressed = COMPRESSED.map(async ([encoding, end]) => {
      const body = await read(name + end)
      return body === undefined ? [] : [{ encoding, body }]
    })
    const forms = [...(await Promise.all(compressed)).flat(), { encoding: undefined, body }]
    const file = { type, forms }
    known.set(name, file)
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
      const { type, forms } = file
      const form = forms.find(
        ({ encoding }) => encoding === undefined || takes(accepted, encoding),
      )!
      return { type, ...form }
    },
    read,
  }
}

/** Where the front end of this program is built. */
export function findFolder(): string {
  return join(findRoot(), 'dist/dashboard')
}

/** Whether an encoding is named, and not to be left out: `br;q=0` (RFC 9110 §12.5.3). */
function takes(accepted: string, encoding: string): boolean {
  return accepted.split(',').some((each) => {
    const [name = '', weight = ''] = each.split(';', 2)
    return name.trim().toLowerCase() === encoding && !/^\s*q=0(?:\.0*)?\s*$/i.test(weight)
  })
}
