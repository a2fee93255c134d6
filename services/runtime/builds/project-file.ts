import { parse } from 'yaml'
import type { Resources } from '../../../core/contracts/runtime.ts'
import { suggest } from '../../../lib/text/did-you-mean.ts'
import { parseSize } from '../../../lib/text/units.ts'
import { badRequest } from '../../../sdk/errors.ts'
import { toCommand } from './languages/shell.ts'

/** Build and run settings of a project or from the caller. */
export interface ProjectSettings {
  /** Program and arguments, which override the detected command. */
  readonly command?: readonly string[]
  /** Shell commands, which override the detected build step. */
  readonly build?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly instances?: number
  readonly resources?: Resources
  readonly protocol?: 'mx' | 'http'
  /** Port of a program with the `http` protocol. If undefined, it is assigned through `PORT`. */
  readonly port?: number
}

type Reader = (value: unknown, name: string) => Partial<ProjectSettings>

const PROJECT_FILE = 'mx.yaml'
const ID = 'runtime'
const MAX_INSTANCES = 1000
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/

const READERS: Readonly<Record<string, Reader>> = {
  command: (value, name) => ({
    command: Array.isArray(value) ? readTexts(value, name) : toCommand(readText(value, name)),
  }),
  build: (value, name) => ({ build: readTexts(Array.isArray(value) ? value : [value], name) }),
  env: (value, name) => ({ env: readEnv(value, name) }),
  instances: (value, name) => ({ instances: readInteger(value, name, MAX_INSTANCES) }),
  resources: (value, name) => ({ resources: readResources(value, name) }),
  protocol: (value, name) => {
    if (value !== 'mx' && value !== 'http') throw invalid(name, 'mx or http', value)
    return { protocol: value }
  },
  port: (value, name) => ({ port: readInteger(value, name, 65_535) }),
}

/** Parses the `mx.yaml` of a project. @throws {ServiceError} 400 with the key or line. */
export function parseProjectFile(text: string): ProjectSettings {
  let content: unknown
  try {
    content = parse(text)
  } catch (error) {
    const [line] = (error as Error).message.split('\n')
    throw badRequest(ID, `${PROJECT_FILE}: ${line!.replace(/:$/, '')}`, { cause: error })
  }
  let settings: ProjectSettings = {}
  for (const [name, value] of readMap(content ?? {}, 'it', Object.keys(READERS)))
    settings = { ...settings, ...READERS[name]!(value, name) }
  return settings
}

function readResources(value: unknown, name: string): Resources {
  let resources: Resources = {}
  for (const [key, amount] of readMap(value, name, ['memory', 'cpus'])) {
    if (key === 'memory') resources = { ...resources, memoryBytes: readSize(amount) }
    else if (typeof amount === 'number' && amount > 0) resources = { ...resources, cpus: amount }
    else throw invalid('resources.cpus', 'a number of cores such as 0.5', amount)
  }
  return resources
}

function readSize(value: unknown): number {
  try {
    const bytes = parseSize(value as string)
    if (bytes >= 1 && Number.isFinite(bytes)) return bytes
    throw invalid('resources.memory', 'a size such as 256mb', value)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw badRequest(ID, `${PROJECT_FILE}: resources.memory ${(error as Error).message}`, {
      cause: error,
    })
  }
}

function readEnv(value: unknown, name: string): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [key, entry] of readMap(value, name)) {
    if (!VARIABLE.test(key)) throw invalid(name, 'names of environment variables', key)
    if (entry === null || typeof entry === 'object')
      throw invalid(`${name}.${key}`, 'a scalar', entry)
    env[key] = String(entry)
  }
  return env
}

function readMap(value: unknown, name: string, allowed?: readonly string[]): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(name, 'a map', value)
  for (const key of Object.keys(value)) {
    if (allowed === undefined || allowed.includes(key)) continue
    const suggestion = suggest(key, allowed)
    throw badRequest(
      ID,
      `${PROJECT_FILE}: unknown key ${key}; ${suggestion === undefined ? `expected one of ${allowed.join(', ')}` : `did you mean ${suggestion}?`}`,
    )
  }
  return Object.entries(value)
}

function readTexts(values: readonly unknown[], name: string): string[] {
  if (values.length === 0) throw invalid(name, 'a string or a list of strings', values)
  return values.map((value) => readText(value, name))
}

function readText(value: unknown, name: string): string {
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string' || text.trim() === '')
    throw invalid(name, 'a string or a list of strings', value)
  return text
}

function readInteger(value: unknown, name: string, max: number): number {
  if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > max)
    throw invalid(name, `a whole number from 1 to ${max}`, value)
  return value as number
}

function invalid(name: string, expected: string, value: unknown) {
  return badRequest(
    ID,
    `${PROJECT_FILE}: ${name} must be ${expected}, got ${JSON.stringify(value)}`,
  )
}
