import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { SECRET_NAME } from '../../../lib/text/redact.ts'
import { HiddenValues, type Sensitivity } from './hidden-values.ts'
import { formatReference, parseReferences, type Reference } from './reference.ts'

/** A value with its references resolved. */
export interface ResolvedValue {
  readonly text: string
  /** The value as written, without defaults. */
  readonly display: string
}

/** Maximum size of a referenced file in bytes. */
const FILE_MAX = 65_536
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EACCES: 'permission denied',
}

/** Resolves the references in a configuration file at startup and on each reload. */
export class References {
  readonly hidden: HiddenValues = new HiddenValues()
  /**
   * Secrets of the service `config` by path, read before the file is parsed. Secrets that could not
   * be read are errors.
   */
  secrets: ReadonlyMap<string, string | Error> = new Map()
  readonly #env: Readonly<Record<string, string | undefined>>
  readonly #files = new Set<string>()

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.#env = env
  }

  /** Files that the last configuration refers to, even if it was rejected. */
  get files(): readonly string[] {
    return [...this.#files]
  }

  /** Clears the files of the previous configuration. */
  begin(): void {
    this.#files.clear()
  }

  /**
   * Resolves the references in a value.
   *
   * @param folder folder of the configuration file.
   * @param isPublic whether the value is an address, a name or a setting.
   * @returns undefined for a value without `${`.
   * @throws {RangeError} with the reason but not the value.
   */
  resolve(value: string, folder: string, isPublic: boolean): ResolvedValue | undefined {
    if (!value.includes('${')) return undefined
    let text = ''
    let display = ''
    for (const part of parseReferences(value)) {
      if (typeof part === 'string') {
        text += part
        display += part
        continue
      }
      const found = this.#read(part, folder)
      const shown = formatReference(part)
      // A default is visible in the file, so it is not hidden.
      if (found !== part.fallback) this.hidden.add(found, shown, toSensitivity(part, isPublic))
      text += found
      display += shown
    }
    return { text, display }
  }

  #read({ kind, name, fallback }: Reference, folder: string): string {
    if (kind === 'file') return this.#readFile(resolve(folder, name), name)
    if (kind === 'env') {
      const found = this.#env[name] || fallback
      if (found !== undefined) return found
      throw new RangeError(
        `environment variable ${name} is not set; set it, or add a default: \${${name}:-default}`,
      )
    }
    const found = this.secrets.get(name)
    if (typeof found === 'string') return found
    throw new RangeError(`cannot read secret ${name}: ${found?.message ?? 'it was not requested'}`)
  }

  #readFile(path: string, name: string): string {
    this.#files.add(path)
    const fail = (reason: string): never => {
      throw new RangeError(`cannot read file ${name}: ${reason}`)
    }
    try {
      const stats = statSync(path)
      // A pipe or a device could block or never end.
      if (!stats.isFile()) return fail('it is not a file')
      if (stats.size > FILE_MAX) return fail(`it is larger than ${FILE_MAX / 1024} KiB`)
      const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
      return text.replace(/\r?\n$/, '')
    } catch (error) {
      if (error instanceof RangeError) throw error
      if (error instanceof TypeError) return fail('it is not UTF-8 text')
      const { code = '', message } = error as NodeJS.ErrnoException
      return fail(REASONS[code] ?? message)
    }
  }
}

function toSensitivity({ kind, name }: Reference, isPublic: boolean): Sensitivity {
  if (kind !== 'env' || SECRET_NAME.test(name)) return 'secret'
  return isPublic ? 'public' : 'private'
}
