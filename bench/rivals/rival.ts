import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where a rival works, and what is asked of it. */
export interface Site {
  /** Empty folder for its files. */
  readonly folder: string
  /** 127.0.0.1 port it listens on. */
  readonly port: number
  /** 127.0.0.1 port of the backend. */
  readonly backendPort: number
  /** Port of a service that answers the same by the call protocol, for who speaks it; undefined: requests go on as HTTP. */
  readonly servicePort: number | undefined
  /** Client connections to be ready for, where they are more than usual; 0: the usual ones. */
  readonly connections: number
  /** PEM files when clients come over TLS. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
  /** Whether clients speak HTTP/2. */
  readonly http2: boolean
  /** Whether the backend speaks gRPC. */
  readonly grpc: boolean
  /** Requests written ahead on a backend connection, by those who can; 1: none. */
  readonly pipeline: number
  /** Processes or threads that serve. */
  readonly workers: number
  /** Services that are known besides, of which nothing is asked. */
  readonly idleServices: number
  /** Whether every request is logged to `access.log` in the folder. */
  readonly accessLog: boolean
}

/** Another program (or ours) that can be put in front of the backend. */
export interface Rival {
  readonly name: string
  readonly title: string
  /** Its version; undefined when it is not installed. */
  readonly version: () => string | undefined
  /** Whether it can do what the site asks; else it is left out. */
  readonly serves: (site: Pick<Site, 'tls' | 'pipeline' | 'workers' | 'accessLog'>) => boolean
  /** Writes its files and returns the command that starts it in the foreground. */
  readonly prepare: (site: Site) => readonly string[]
}

/** The folder of package.json: configuration templates lie in the sources, also when the built program runs. */
export const ROOT: string = findRoot(dirname(fileURLToPath(import.meta.url)))

function findRoot(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findRoot(dirname(folder))
}

/**
 * Fills a template of `bench/rivals/`, and writes the result into the site's folder.
 * A line that names an undefined value is left out.
 *
 * @returns the path of the written file.
 */
export function writeTemplate(
  site: Site,
  name: string,
  values: Readonly<Record<string, unknown>>,
): string {
  const lines = readFileSync(join(ROOT, 'bench/rivals', name), 'utf8').split('\n')
  const filled = lines.flatMap((line) => {
    let left = false
    const text = line.replace(/\{\{(\w+)\}\}/g, (_, key: string) => {
      if (!(key in values)) throw new Error(`${name} names {{${key}}}, which nobody fills in`)
      left ||= values[key] === undefined
      return String(values[key])
    })
    return left ? [] : [text]
  })
  const file = join(site.folder, name)
  writeFileSync(file, filled.join('\n'))
  return file
}

/** What `pattern` finds in the output of a command; undefined when the command is not there. */
export function readVersion(
  command: readonly [string, ...string[]],
  pattern: RegExp,
): string | undefined {
  try {
    const [program, ...args] = command
    const output = execFileSync('/bin/sh', ['-c', 'exec "$0" "$@" 2>&1', program, ...args], {
      encoding: 'utf8',
      timeout: 10_000,
    })
    return pattern.exec(output)?.[1]
  } catch {
    return undefined
  }
}

/** The command that runs a TypeScript module of this folder: built, or with tsx from its source. */
export function toNodeCommand(module: string, ...args: string[]): readonly string[] {
  const self = fileURLToPath(import.meta.url)
  const file = join(dirname(self), '..', module + (self.endsWith('.ts') ? '.ts' : '.js'))
  return [process.execPath, ...(self.endsWith('.ts') ? ['--import', 'tsx'] : []), file, ...args]
}

/** The version of an installed package. */
export function readPackageVersion(name: string): string | undefined {
  try {
    return JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8'))
      .version
  } catch {
    return undefined
  }
}
