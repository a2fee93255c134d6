import { computed, signal } from '@preact/signals'
import type { JSX } from 'preact'
import { endedSession, session } from '../state/session.ts'
import type { Tone } from './badge.tsx'

interface Shown {
  readonly id: number
  readonly text: string
  readonly tone: Tone
}

const SHOWN_MS = 5000
const toasts = signal<readonly Shown[]>([])
const owner = computed(() => {
  const { id, issuer } = (session.value ?? endedSession.value)?.account ?? {}
  return JSON.stringify([id, issuer])
})
let lastId = 0

// What one account was told is nothing for the next.
owner.subscribe(() => {
  toasts.value = []
})

/** Says for a moment what has happened; what went wrong (`bad`), until it is closed. */
export function showToast(text: string, tone: Tone = 'good'): void {
  const stays = tone === 'bad'
  const others = toasts.value.filter((toast) => toast.text !== text || !stays)
  const id = ++lastId
  toasts.value = [...others, { id, text, tone }]
  if (!stays) setTimeout(() => dismiss(id), SHOWN_MS)
}

/** Where toasts appear: once in the page. */
export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status">
      {toasts.value.map(({ id, text, tone }) => (
        <p key={id} class={`toast ${tone}`}>
          <span>{text}</span>{' '}
          {tone === 'bad' && (
            <button type="button" class="quiet" onClick={() => dismiss(id)}>
              Close
            </button>
          )}
        </p>
      ))}
    </div>
  )
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id)
}
