import { computed, signal } from '@preact/signals'
import type { JSX } from 'preact'
import { endedSession, session } from '../state/session.ts'
import type { Tone } from './badge.tsx'

interface Toast {
  readonly id: number
  readonly text: string
  readonly tone: Tone
}

const DURATION_MS = 5000
const toasts = signal<readonly Toast[]>([])
const owner = computed(() => {
  const { id, issuer } = (session.value ?? endedSession.value)?.account ?? {}
  return JSON.stringify([id, issuer])
})
let lastId = 0

// Messages of one account must not be visible to the next account.
owner.subscribe(() => {
  toasts.value = []
})

/** Shows a notification for {@link DURATION_MS}. Errors (`bad`) stay until they are closed. */
export function showToast(text: string, tone: Tone = 'good'): void {
  const isSticky = tone === 'bad'
  const otherToasts = toasts.value.filter((toast) => toast.text !== text || !isSticky)
  const id = ++lastId
  toasts.value = [...otherToasts, { id, text, tone }]
  if (!isSticky) setTimeout(() => dismiss(id), DURATION_MS)
}

/** Notification area; rendered once per page. */
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
