import type { OtlpLibraries } from './libraries.ts'

type Api = Pick<OtlpLibraries['api'], 'diag' | 'DiagLogLevel'>

/** Process-wide state of the libraries, including the logger. */
const SHARED = Symbol.for('opentelemetry.js.api.1')
/** File variables by their label in the exporter's messages. */
const FILES: readonly [label: string, variable: string][] = [
  ['root certificate', 'CERTIFICATE'],
  ['client certificate chain', 'CLIENT_CERTIFICATE'],
  ['client certificate private key', 'CLIENT_KEY'],
]

/**
 * Runs `build` and reports the libraries' warnings about the `OTEL_*` variables, unless the program
 * has set its own diagnostic logger.
 */
export function logDiagnostics<T>(
  { diag, DiagLogLevel }: Api,
  onProblem: (problem: string) => void,
  build: () => T,
): T {
  const shared = Reflect.get(globalThis, SHARED) as { readonly diag?: unknown } | undefined
  if (shared?.diag !== undefined) return build()
  const noop = (): void => {}
  const warn = (message: string): void => onProblem(nameVariable(message))
  // Errors concern samplers, whose variables have already been validated.
  const logger = { error: noop, warn, info: noop, debug: noop, verbose: noop }
  diag.setLogger(logger, DiagLogLevel.WARN)
  try {
    return build()
  } finally {
    diag.disable()
  }
}

function nameVariable(message: string): string {
  const file = FILES.find(([label]) => message === `Failed to read ${label} file`)
  if (file === undefined) return message
  const specific = `OTEL_EXPORTER_OTLP_TRACES_${file[1]}`
  const name = process.env[specific] ? specific : `OTEL_EXPORTER_OTLP_${file[1]}`
  return `${name} must be a readable file, got ${JSON.stringify(process.env[name])}; it is ignored`
}
