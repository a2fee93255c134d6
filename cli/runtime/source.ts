import { statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { isServiceName } from '../../core/registry/service-name.ts'
import { CliError, EXIT } from '../ui/output.ts'

/** Source of a service, parsed from the argument of `mx run` (specification: Run reference rules). */
export type Source =
  | {
      readonly kind: 'folder'
      /** Absolute path of a folder, or of the file to run. */
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

/** Default reference. */
export const LATEST = 'latest'

/** Part of an address in which an `@` belongs to the host, such as `https://user@host/` or `user@host:`. */
const AUTHORITY = /^(?:[a-z][a-z0-9+.-]*:\/\/[^/]*\/?|[^/@]+@[^/:]+:)/i
/** Splits at the last `@`, except at the start of a folder name, as in package scopes. */
const REFERENCE = /^(.*[^/@])@([^@]*)$/
/** Matches a host that contains a dot, followed by a path. */
const HOST_AND_PATH = /^[^/]+\.[^/]+\/./
const PATH = /^(?:[./~\\]|[a-z]:\\)/i
/** File names that do not identify the service. */
const COMMON_STEMS = ['index', 'main']

/**
 * Parses a source: a local path, else an address, else a short name relative to `baseUrl`.
 *
 * @param baseUrl base URL; if empty, short names are rejected
 * @throws {CliError} for an invalid source
 */
export function parseSource(text: string, baseUrl: string): Source {
  const path = findLocal(text, LATEST)
  if (path !== undefined) return path
  const { stem, ref = LATEST } = splitReference(text)
  if (stem === '' || ref === '')
    throw usage(`text is missing ${ref === '' ? 'after' : 'before'} the @ in ${text}`)
  const local = findLocal(stem, ref)
  if (local !== undefined) return local
  if (PATH.test(stem)) throw usage(`no such folder: ${stem}`)
  if (AUTHORITY.test(stem) || HOST_AND_PATH.test(stem)) return toAddress(stem, ref)
  if (baseUrl !== '') return toAddress(`${baseUrl.replace(/\/+$/, '')}/${stem}`, ref)
  throw usage(
    `no such folder: ${stem}. For a repository, use its address, such as github.com/<owner>/${stem}, or set a base URL for short names: 'mx user config set git.baseurl github.com/<owner>'`,
  )
}

/** Splits off the reference after the `@`. */
export function splitReference(text: string): { readonly stem: string; readonly ref?: string } {
  const host = AUTHORITY.exec(text)?.[0] ?? ''
  const [, stem, ref] = REFERENCE.exec(text.slice(host.length)) ?? []
  return stem === undefined ? { stem: text } : { stem: host + stem, ref: ref! }
}

/** Name of a source: its last path segment. */
export function toName(path: string): string {
  return basename(path.replace(/[/\\]+$/, '')).replace(/\.git$/, '')
}

/** @throws {CliError} for an invalid name */
export function checkName(name: string): string {
  if (isServiceName(name)) return name
  throw usage(
    `invalid name ${JSON.stringify(name)}: use letters, digits and inner dots, dashes or underscores; set one with --name`,
  )
}

/** Finds a folder or file on this machine. */
export function findLocal(text: string, ref: string): Source | undefined {
  const path = resolve(text)
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats?.isDirectory()) return { kind: 'folder', path, ref, name: toName(path) }
  if (!stats?.isFile()) return undefined
  const stem = basename(path).replace(/\.[^.]+$/, '')
  const name = COMMON_STEMS.includes(stem) ? toName(dirname(path)) : stem
  return { kind: 'folder', path, ref, name }
}

/**
 * A folder as shown by `mx status` and used by `mx update <name>`: its absolute path, with a reference other than
 * `latest` appended.
 */
export function formatFolder({ path, ref }: Source & { readonly kind: 'folder' }): string {
  return ref === LATEST ? path : `${path}@${ref}`
}

function toAddress(address: string, ref: string): Source {
  return { kind: 'address', address, ref, name: toName(address.replace(/^[^/]*:/, '')) }
}

function usage(message: string): CliError {
  return new CliError(message, { status: EXIT.usage })
}
