import { redactUrl } from '../../lib/text/redact.ts'

/** Result of reading the OpenTelemetry SDK and OTLP exporter environment variables. */
export interface OtlpVariables {
  /** Whether traces are exported. */
  readonly isEnabled: boolean
  /** Invalid variables and the consequence, one line each. */
  readonly problems: readonly string[]
}

type Read = (name: string) => string

const OFF: OtlpVariables = { isEnabled: false, problems: [] }
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
]
/** Collectors accept both protocols. */
const PROTOCOLS = ['http/json', 'http/protobuf']
/** Header of the OTLP exporter, in the form of a W3C Baggage pair. */
const PAIR = /^[^\s=;]+\s*=\s*[^\s;]/

/**
 * Reads the variables. Traces are exported if `OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is
 * set, unless `OTEL_SDK_DISABLED=true` or `OTEL_TRACES_EXPORTER=none`.
 */
export function readOtlpVariables(env: NodeJS.ProcessEnv = process.env): OtlpVariables {
  const read: Read = (name) => env[name]?.trim() ?? ''
  const [name, endpoint] = readSpecificOrGeneral(read, 'ENDPOINT')
  const exporters = read('OTEL_TRACES_EXPORTER')
  if (endpoint === '' || read('OTEL_SDK_DISABLED').toLowerCase() === 'true') return OFF
  if (exporters !== '' && !exporters.split(',').some((each) => each.trim() === 'otlp')) return OFF

  const [protocolName, protocol] = readSpecificOrGeneral(read, 'PROTOCOL')
  if (protocol !== '' && !PROTOCOLS.includes(protocol))
    return disable(`${protocolName} must be http/json or http/protobuf, got ${show(protocol)}`)
  if (!isHttp(endpoint))
    return disable(`${name} must be a URL such as http://localhost:4318, got ${show(endpoint)}`)
  const problems = [...checkHeaders(read), ...checkSampler(read)]
  if (protocol === 'http/protobuf')
    problems.push(`${protocolName} is http/protobuf; using http/json`)
  return { isEnabled: true, problems }
}

/** Reads the variable for traces, falling back to the general one; empty if neither is set. */
function readSpecificOrGeneral(read: Read, label: string): [name: string, text: string] {
  const tracesName = `OTEL_EXPORTER_OTLP_TRACES_${label}`
  const name = read(tracesName) === '' ? `OTEL_EXPORTER_OTLP_${label}` : tracesName
  return [name, read(name)]
}

function disable(problem: string): OtlpVariables {
  return { isEnabled: false, problems: [`traces are not exported: ${problem}`] }
}

/** Both variables are used. Malformed pairs are ignored and not quoted, since they may be secrets. */
function checkHeaders(read: Read): string[] {
  return ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'].flatMap((name) => {
    const pairs = read(name).split(',')
    const malformedIndex = pairs.findIndex((pair) => pair.trim() !== '' && !isPair(pair.trim()))
    return malformedIndex < 0
      ? []
      : [
          `${name} must be pairs such as api-key=1234,team=a%20b; ignored the malformed pair ${malformedIndex + 1}`,
        ]
  })
}

function isPair(text: string): boolean {
  try {
    return PAIR.test(text) && decodeURIComponent(text) !== ''
  } catch {
    return false
  }
}

function checkSampler(read: Read): string[] {
  const sampler = read('OTEL_TRACES_SAMPLER')
  if (sampler === '') return []
  if (!SAMPLERS.includes(sampler)) {
    const known = SAMPLERS.join(', ')
    return [
      `OTEL_TRACES_SAMPLER must be one of ${known}, got ${show(sampler)}; using parentbased_always_on`,
    ]
  }
  if (!sampler.endsWith('ratio')) return []
  const share = read('OTEL_TRACES_SAMPLER_ARG')
  if (share !== '' && Number(share) >= 0 && Number(share) <= 1) return []
  return [`OTEL_TRACES_SAMPLER_ARG must be from 0 to 1, got ${show(share)}; using 1`]
}

function isHttp(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'http:' || url?.protocol === 'https:'
}

function show(text: string): string {
  return JSON.stringify(redactUrl(text).slice(0, 253))
}
