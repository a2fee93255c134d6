import { redactUrl } from '../../lib/text/redact.ts'

/** Where spans go, by the variables all programs share (OpenTelemetry: SDK and OTLP exporter environment variables). */
export interface OtlpVariables {
  /** Whether spans are made at all. */
  readonly isOn: boolean
  /** What is wrong, a line each, and what it means. */
  readonly problems: readonly string[]
}

type Read = (name: string) => string

const OFF: OtlpVariables = { isOn: false, problems: [] }
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
]
/** Collectors take either. */
const PROTOCOLS = ['http/json', 'http/protobuf']
/** OTLP exporter, headers: pairs as of W3C Baggage. */
const PAIR = /^[^\s=;]+\s*=\s*[^\s;]/

/**
 * Whether traces are exported: `OTEL_EXPORTER_OTLP_ENDPOINT`, or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, says where to, and neither
 * `OTEL_SDK_DISABLED=true` nor `OTEL_TRACES_EXPORTER=none` speaks against it.
 */
export function readOtlpVariables(env: NodeJS.ProcessEnv = process.env): OtlpVariables {
  const read: Read = (name) => env[name]?.trim() ?? ''
  const [name, endpoint] = readEither(read, 'ENDPOINT')
  const exporters = read('OTEL_TRACES_EXPORTER')
  if (endpoint === '' || read('OTEL_SDK_DISABLED').toLowerCase() === 'true') return OFF
  if (exporters !== '' && !exporters.split(',').some((each) => each.trim() === 'otlp')) return OFF

  const [protocolName, protocol] = readEither(read, 'PROTOCOL')
  if (protocol !== '' && !PROTOCOLS.includes(protocol))
    return refuse(`spans are sent by OTLP over HTTP, and ${protocolName} is ${show(protocol)}`)
  if (!isHttp(endpoint))
    return refuse(`${name} must be a URL such as http://localhost:4318, got ${show(endpoint)}`)
  const problems = [...checkHeaders(read), ...checkSampler(read)]
  if (protocol === 'http/protobuf')
    problems.push(`${protocolName} is http/protobuf, and spans are sent as http/json`)
  return { isOn: true, problems }
}

/** A variable of traces, else that of everything, as it is called; empty: there is neither. */
function readEither(read: Read, what: string): [name: string, text: string] {
  const own = `OTEL_EXPORTER_OTLP_TRACES_${what}`
  const name = read(own) === '' ? `OTEL_EXPORTER_OTLP_${what}` : own
  return [name, read(name)]
}

function refuse(problem: string): OtlpVariables {
  return { isOn: false, problems: [`no traces are exported: ${problem}`] }
}

/** Both are sent; what is none is left out, and may be a secret. */
function checkHeaders(read: Read): string[] {
  return ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'].flatMap((name) => {
    const pairs = read(name).split(',')
    const wrong = pairs.findIndex((pair) => pair.trim() !== '' && !isPair(pair.trim()))
    return wrong < 0
      ? []
      : [
          `${name} must be pairs such as api-key=1234,team=a%20b; number ${wrong + 1} is none, and left out`,
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
      `OTEL_TRACES_SAMPLER must be one of ${known}, got ${show(sampler)}; taken as parentbased_always_on`,
    ]
  }
  if (!sampler.endsWith('ratio')) return []
  const share = read('OTEL_TRACES_SAMPLER_ARG')
  if (share !== '' && Number(share) >= 0 && Number(share) <= 1) return []
  return [`OTEL_TRACES_SAMPLER_ARG must be from 0 to 1, got ${show(share)}; taken as 1`]
}

function isHttp(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'http:' || url?.protocol === 'https:'
}

function show(text: string): string {
  return JSON.stringify(redactUrl(text).slice(0, 253))
}
