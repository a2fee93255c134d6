import { statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { isServiceName } from '../../core/registry/service-name.ts'
import { CliError, EXIT } from '../ui/output.ts'

/** What is to be run, as the first word behind `mx run` says it (specification: Run reference rules). */
export type Source =
  | {
      readonly kind: 'folder'
      /** Absolute; a folder, or the file of it that is to run. */
      readonly path: string
      readonly ref: string
      readonly name: string
    }
  | {
      readonly kind: 'address'
      readonly address: string
      readonly ref: string
      readonly name: string
    }

/** Reference of whoever gives none. */
export const LATEST = 'latest'

/** Up to where an `@` belongs to the host: `https://user@host/`, `user@host:`. */
const AUTHORITY = /^(?:[a-z][a-z0-9+.-]*:\/\/[^/]*\/?|[^/@]+@[^/:]+:)/i
/** Not an `@` at the beginning of a folder, as scopes of packages have it. */
const REFERENCE = /^(.*[^/@])@([^@]*)$/
/** A host with a dot in it before the first slash. */
const HOST_AND_PATH = /^[^/]+\.[^/]+\/./
const PATH = /^(?:[./~\\]|[a-z]:\\)/i
/** Of files that are named so in every project. */
const COMMON_STEMS = ['index', 'main']

/**
 * Reads a source: what there is of that name here, else an address, else a short name below `baseUrl`.
 *
 * @param baseUrl empty: short names name nothing.
 * @throws {CliError} when it is none.
 */
export function parseSource(text: string, baseUrl: string): Source {
  const whole = findLocal(text, LATEST)
  if (whole !== undefined) return whole
  const { stem, ref = LATEST } = splitReference(text)
  if (stem === '' || ref === '')
    throw usage(`nothing stands ${ref === '' ? 'behind' : 'before'} the @ of ${text}`)
  const local = findLocal(stem, ref)
  if (local !== undefined) return local
  if (PATH.test(stem)) throw usage(`no such folder: ${stem}`)
  if (AUTHORITY.test(stem) || HOST_AND_PATH.test(stem)) return toAddress(stem, ref)
  if (baseUrl !== '') return toAddress(`${baseUrl.replace(/\/+$/, '')}/${stem}`, ref)
  throw usage(
    `no such folder: ${stem}. A repository is given by its address, such as github.com/<owner>/${stem}; 'mx user config set git.baseurl github.com/<owner>' makes ${stem} short for that`,
  )
}

/** A name, or what was run under it, and the reference behind an `@`. */
export function splitReference(text: string): { readonly stem: string; readonly ref?: string } {
  const host = AUTHORITY.exec(text)?.[0] ?? ''
  const [, stem, ref] = REFERENCE.exec(text.slice(host.length)) ?? []
  return stem === undefined ? { stem: text } : { stem: host + stem, ref: ref! }
}

/** The name of a source: its last part. */
export function toName(path: string): string {
  return basename(path.replace(/[/\\]+$/, '')).replace(/\.git$/, '')
}

/** @throws {CliError} when nothing can be named so. */
export function checkName(name: string): string {
  if (isServiceName(name)) return name
  throw usage(
    `${JSON.stringify(name)} is no name: letters, digits and inner dots, dashes or underscores; give one with --name`,
  )
}

/** What there is of that name on this machine. */
export function findLocal(text: string, ref: string): Source | undefined {
  const path = resolve(text)
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats?.isDirectory()) return { kind: 'folder', path, ref, name: toName(path) }
  if (!stats?.isFile()) return undefined
  const stem = basename(path).replace(/\.[^.]+$/, '')
  const name = COMMON_STEMS.includes(stem) ? toName(dirname(path)) : stem
  return { kind: 'folder', path, ref, name }
}

/** A folder as `mx status` shows it and `mx update <name>` finds it again: its absolute path, and a reference other than `latest`. */
export function formatFolder({ path, ref }: Source & { readonly kind: 'folder' }): string {
  return ref === LATEST ? path : `${path}@${ref}`
}

function toAddress(address: string, ref: string): Source {
  return { kind: 'address', address, ref, name: toName(address.replace(/^[^/]*:/, '')) }
}

function usage(message: string): CliError {
  return new CliError(message, { status: EXIT.usage })
}
