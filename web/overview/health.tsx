import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Badge, type Tone } from '../components/badge.tsx'
import { formatDuration } from '../components/time/format.ts'
import { type CallState, useCall } from '../hooks/use-call.ts'
import { usePolling } from '../hooks/use-polling.ts'
import { call } from '../rpc/caller.ts'
import { Link } from '../state/router.ts'
import { DEFAULT_NAMESPACE } from '../state/session.ts'

const BUILT_IN: readonly (readonly [name: string, about: string])[] = [
  ['api', 'Gateway status and metrics'],
  ['registry', 'Service discovery'],
  ['auth', 'Accounts, tokens and access rules'],
  ['config', 'Dynamic configuration'],
  ['store', 'Key-value records and blobs'],
  ['broker', 'Publish/subscribe messages'],
  ['events', 'Persistent event streams'],
  ['runtime', 'Deployment of services'],
  ['network', 'Links between servers'],
]
const TIMEOUT_MS = 5000
const INTERVAL_MS = 10_000

/** Health of the built-in services, collapsed to a summary. */
export function Health(): JSX.Element {
  const [tones, setTones] = useState<Readonly<Record<string, Tone>>>({})
  const failing = Object.values(tones).filter((tone) => tone === 'bad').length
  const healthy = Object.values(tones).filter((tone) => tone === 'good').length
  return (
    <details class="card">
      <summary>
        <h2>Built-in services</h2>
        <Badge tone={failing > 0 ? 'bad' : 'neutral'}>
          {failing > 0 ? `${failing} failing` : `${healthy} healthy`}
        </Badge>
      </summary>
      <ul class="health">
        {BUILT_IN.map(([name, about]) => (
          <Service
            key={name}
            name={name}
            about={about}
            onTone={(tone) => setTones((before) => ({ ...before, [name]: tone }))}
          />
        ))}
      </ul>
    </details>
  )
}

interface ServiceProps {
  readonly name: string
  readonly about: string
  readonly onTone: (tone: Tone) => void
}

function Service({ name, about, onTone }: ServiceProps): JSX.Element {
  const options = { namespace: DEFAULT_NAMESPACE, timeoutMs: TIMEOUT_MS }
  const state = useCall((signal) => call(name, 'Debug.Health', {}, { ...options, signal }), [name])
  usePolling(state, INTERVAL_MS)
  const [tone, text, reason] = toState(state)
  useEffect(() => onTone(tone), [tone])
  return (
    <li data-service={name}>
      <span class="health-name">
        <Link to={`/services/${name}`}>{name}</Link>
        <span class="muted small">{about}</span>
      </span>
      <span title={reason}>
        <Badge tone={tone}>{text}</Badge>
      </span>
    </li>
  )
}

function toState({
  value,
  error,
}: CallState<{ readonly tookMs: number }>): readonly [Tone, string, string | undefined] {
  if (error !== undefined) {
    const reason = `${error.detail} (${error.code})`
    if (error.code === 404) return ['neutral', 'Not running', reason]
    if (error.isLoss || error.isExpiry) return ['warning', 'Unknown', reason]
    if (error.code === 401 || error.code === 403) return ['neutral', 'Forbidden', reason]
    return ['bad', error.code === 408 ? 'Timed out' : 'Failing', reason]
  }
  if (value === undefined) return ['neutral', 'Checking', undefined]
  return ['good', `Healthy · ${formatDuration(value.tookMs)}`, undefined]
}
