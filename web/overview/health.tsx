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
  ['api', 'The gateway, and what it counts'],
  ['registry', 'What runs where'],
  ['auth', 'Accounts, tokens and rules'],
  ['config', 'Values services read'],
  ['store', 'Records and blobs'],
  ['broker', 'Messages to those who listen'],
  ['events', 'Streams of events that are kept'],
  ['runtime', 'Services this server runs'],
  ['network', 'Other servers'],
]
const TIMEOUT_MS = 5000
const EVERY_MS = 10_000

/** Whether the services of the platform answer: folded to a summary. */
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
  usePolling(state, EVERY_MS)
  const [tone, words, why] = toState(state)
  useEffect(() => onTone(tone), [tone])
  return (
    <li data-service={name}>
      <span class="health-name">
        <Link to={`/services/${name}`}>{name}</Link>
        <span class="muted small">{about}</span>
      </span>
      <span title={why}>
        <Badge tone={tone}>{words}</Badge>
      </span>
    </li>
  )
}

function toState({
  value,
  error,
}: CallState<{ readonly tookMs: number }>): readonly [Tone, string, string | undefined] {
  if (error !== undefined) {
    const why = `${error.detail} (${error.code})`
    if (error.code === 404) return ['neutral', 'Not running', why]
    if (error.isLoss || error.isExpiry) return ['warning', 'Unknown', why]
    if (error.code === 401 || error.code === 403) return ['neutral', 'Forbidden', why]
    return ['bad', error.code === 408 ? 'No answer' : 'Failing', why]
  }
  if (value === undefined) return ['neutral', 'Asking', undefined]
  return ['good', `Healthy · ${formatDuration(value.tookMs)}`, undefined]
}
