import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Environment and requirements of a rival. */
export interface Site {
  /** Empty folder for its files. */
  readonly folder: string
  /** Port on 127.0.0.1 to listen on. */
  readonly port: number
  /** Port of the backend on 127.0.0.1. */
  readonly backendPort: number
  /** Port of the service with the same responses over the call protocol; undefined to forward as HTTP. */
  readonly servicePort: number | undefined
  /** Number of client connections if it is unusually high; 0 for the default. */
  readonly connections: number
  /** PEM files; undefined if clients do not use TLS. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
  /** True if clients use HTTP/2. */
  readonly http2: boolean
  /** True if the backend is a gRPC server. */
  readonly grpc: boolean
  /** Pipelined requests per backend connection, if supported; 1 for no pipelining. */
  readonly pipeline: number
  /** Number of worker processes or threads. */
  readonly workers: number
  /** Number of registered services that receive no requests. */
  readonly idleServices: number
  /** Number of configured routes in mx. */
  readonly routes: number
  /** Whether the routes have conditions on headers, parameters and clients. */
  readonly hasConditions: boolean
  /** Plugins of mx as YAML; empty for the default ones. */
  readonly plugins: readonly string[]
  /** True to compress JSON with gzip. */
  readonly gzip: boolean
  /** Whether proxies store and send the responses of the backend again. */
  readonly cache: boolean
  /** True to log every request to `access.log` in the folder. */
  readonly accessLog: boolean
}

/** A proxy under test: another program, or mx. */
export interface Rival {
  readonly name: string
  readonly title: string
  /** Version of the program; undefined if it is not installed. */
  readonly version: () => string | undefined
  /** True if it meets the requirements; otherwise it is skipped. */
  readonly serves: (site: Pick<Site, 'tls' | 'pipeline' | 'workers' | 'accessLog'>) => boolean
  /** Writes the configuration and returns the command that starts the proxy in the foreground. */
  readonly prepare: (site: Site) => readonly string[]
}

/** Folder of package.json. The built program also reads configuration templates from the source folder. */
export const ROOT: string = findRoot(dirname(fileURLToPath(import.meta.url)))

function findRoot(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findRoot(dirname(folder))
}

/**
 * Fills in a template from `bench/rivals/` and writes the result to the site's folder. Lines with an undefined value
 * are omitted.
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
    let isOmitted = false
    const text = line.replace(/\{\{(\w+)\}\}/g, (_, key: string) => {
      if (!(key in values)) throw new Error(`${name}: no value for {{${key}}}`)
      isOmitted ||= values[key] === undefined
      return String(values[key])
    })
    return isOmitted ? [] : [text]
  })
  const file = join(site.folder, name)
  writeFileSync(file, filled.join('\n'))
  return file
}

/** Finds `pattern` in the output of a command. Returns undefined if the command is not installed. */
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

/** Returns the command that runs a module in this folder, either built or from source with tsx. */
export function toNodeCommand(module: string, ...args: string[]): readonly string[] {
  const self = fileURLToPath(import.meta.url)
  const file = join(dirname(self), '..', module + (self.endsWith('.ts') ? '.ts' : '.js'))
  return [process.execPath, ...(self.endsWith('.ts') ? ['--import', 'tsx'] : []), file, ...args]
}

/** Reads the version of an installed package. */
export function readPackageVersion(name: string): string | undefined {
  try {
    return JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8'))
      .version
  } catch {
    return undefined
  }
}
