import type { JSX } from 'preact'
import { Badge, type Tone } from '../components/badge.tsx'
import { type RuntimeObject, toPhase, toStatus } from './objects.ts'

const TONES: Readonly<Record<string, Tone>> = { running: 'good', stopped: 'neutral' }

/** Status of a runtime object. */
export function PhaseBadge({ object }: { readonly object: RuntimeObject }): JSX.Element {
  const { text, isBad } = toPhase(object)
  const isSettled = text === toStatus(object)
  const tone = isBad ? 'bad' : isSettled ? (TONES[text] ?? 'accent') : 'accent'
  return <Badge tone={tone}>{text}</Badge>
}
