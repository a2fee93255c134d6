import { hideSecret } from '../hide-secret.ts'

/** Where spans go, by the variables all programs share (OpenTelemetry: SDK and OTLP exporter environment variables). */
export interface OtlpVariables {
  /** Whether spans are made at all. */
  readonly isOn: boolean
  /** What is wrong, a line each, and what it means. */
  readonly problems: readonly string[]
}

const OFF: OtlpVariables = { isOn: false, problems: [] }
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
]
const PROTOCOLS = ['http/json', 'http/protobuf']

/**
 * Whether traces are exported: `OTEL_EXPORTER_OTLP_ENDPOINT`, or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, says where to, and neither
 * `OTEL_SDK_DISABLED=true` nor `OTEL_TRACES_EXPORTER=none` speaks against it.
 */
export function readOtlpVariables(env: NodeJS.ProcessEnv = process.env): OtlpVariables {
  const read = (name: string): string => env[name]?.trim() ?? ''
  const own = 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
  const name = read(own) === '' ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : own
  const endpoint = read(name)
  const exporters = read('OTEL_TRACES_EXPORTER')
  if (endpoint === '' || read('OTEL_SDK_DISABLED').toLowerCase() === 'true') return OFF
  if (exporters !== '' && !exporters.split(',').some((each) => each.trim() === 'otlp')) return OFF

  const protocol = read('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') || read('OTEL_EXPORTER_OTLP_PROTOCOL')
  if (protocol !== '' && !PROTOCOLS.includes(protocol))
    return refuse(
      `spans are sent by OTLP over HTTP, and OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}`,
    )
  if (!isHttp(endpoint))
    return refuse(`${name} must be a URL such as http://localhost:4318, got ${show(endpoint)}`)
  return { isOn: true, problems: checkSampler(read) }
}

function refuse(problem: string): OtlpVariables {
  return { isOn: false, problems: [`no traces are exported: ${problem}`] }
}

function checkSampler(read: (name: string) => string): string[] {
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
  return JSON.stringify(hideSecret(text).slice(0, 253))
}
