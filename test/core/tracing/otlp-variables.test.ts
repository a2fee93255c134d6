import t from 'tap'
import { readOtlpVariables } from '../../../core/tracing/otlp-variables.ts'

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' }

t.test(
  'export is on with an OTLP endpoint, unless the SDK or the exporter is disabled',
  async (t) => {
    const cases: readonly [env: NodeJS.ProcessEnv, isOn: boolean][] = [
      [{}, false],
      [{ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }, false],
      [{ OTEL_TRACES_EXPORTER: 'otlp' }, false],
      [ENDPOINT, true],
      [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector/v1/traces' }, true],
      [{ ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }, false],
      [{ ...ENDPOINT, OTEL_SDK_DISABLED: 'false' }, true],
      [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }, false],
      [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'console, otlp' }, true],
      [{ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, true],
      [{ ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'api-key = 1234, team=a%20b;x,' }, true],
      [{ ...ENDPOINT, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.1' }, true],
    ]
    for (const [env, isOn] of cases)
      t.same(readOtlpVariables(env), { isEnabled: isOn, problems: [] }, JSON.stringify(env))
  },
)

t.test('invalid variables are reported with the expected values, without secrets', async (t) => {
  const cases: readonly [env: NodeJS.ProcessEnv, isOn: boolean, problem: RegExp][] = [
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' }, false, /must be a URL such as http:/],
    [
      { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      false,
      /OTLP_PROTOCOL must be http\/json or http\/protobuf, got "grpc"/,
    ],
    [
      {
        ...ENDPOINT,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc',
      },
      false,
      /OTEL_EXPORTER_OTLP_TRACES_PROTOCOL must be .*, got "grpc"/,
    ],
    [
      { ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf' },
      true,
      /^OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is http\/protobuf; using http\/json$/,
    ],
    [
      { ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'a=b,1234' },
      true,
      /^OTEL_EXPORTER_OTLP_HEADERS must be pairs such as api-key=.*; ignored the malformed pair 2/,
    ],
    [
      { ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'api-key=50%' },
      true,
      /^OTEL_EXPORTER_OTLP_TRACES_HEADERS must be pairs .*; ignored the malformed pair 1/,
    ],
    [{ ...ENDPOINT, OTEL_TRACES_SAMPLER: 'half' }, true, /must be one of always_on,.*got "half"/],
    [
      { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '50%' },
      true,
      /ARG must be from 0 to 1, got "50%"/,
    ],
    [
      { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'parentbased_traceidratio' },
      true,
      /ARG must be from 0 to 1, got ""/,
    ],
  ]
  for (const [env, isOn, problem] of cases) {
    const result = readOtlpVariables(env)
    t.equal(result.isEnabled, isOn, JSON.stringify(env))
    t.match(result.problems, [problem])
  }
  const secret = readOtlpVariables({ OTEL_EXPORTER_OTLP_ENDPOINT: 'ftp://me:secret@host' })
  t.notMatch(secret.problems.join(), 'secret')
})
