import type { OtlpLibraries } from './libraries.ts'

type Api = Pick<OtlpLibraries['api'], 'diag' | 'DiagLogLevel'>

/** What the libraries share in this process, loggers among it. */
const SHARED = Symbol.for('opentelemetry.js.api.1')
/** The variables of files, by how the exporter calls them. */
const FILES: readonly [said: string, variable: string][] = [
  ['root certificate', 'CERTIFICATE'],
  ['client certificate chain', 'CLIENT_CERTIFICATE'],
  ['client certificate private key', 'CLIENT_KEY'],
]

/**
 * Builds something of the libraries, and tells what they find wrong with the variables `OTEL_*`. Where the program logs what they say
 * itself, it is told there.
 */
export function logDiagnostics<T>(
  { diag, DiagLogLevel }: Api,
  onProblem: (problem: string) => void,
  build: () => T,
): T {
  const shared = Reflect.get(globalThis, SHARED) as { readonly diag?: unknown } | undefined
  if (shared?.diag !== undefined) return build()
  const nothing = (): void => {}
  const warn = (message: string): void => onProblem(nameVariable(message))
  // Errors are about samplers, whose variables are checked before.
  const logger = { error: nothing, warn, info: nothing, debug: nothing, verbose: nothing }
  diag.setLogger(logger, DiagLogLevel.WARN)
  try {
    return build()
  } finally {
    diag.disable()
  }
}

function nameVariable(message: string): string {
  const file = FILES.find(([said]) => message === `Failed to read ${said} file`)
  if (file === undefined) return message
  const own = `OTEL_EXPORTER_OTLP_TRACES_${file[1]}`
  const name = process.env[own] ? own : `OTEL_EXPORTER_OTLP_${file[1]}`
  return `${name} must be a file that can be read, got ${JSON.stringify(process.env[name])}; it is left out`
}
