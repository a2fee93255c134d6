import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import type { Tone } from './badge.tsx'

interface Shown {
  readonly id: number
  readonly text: string
  readonly tone: Tone
}

const SHOWN_MS = 5000
const toasts = signal<readonly Shown[]>([])
let lastId = 0

/** Says for a moment what has happened. */
export function showToast(text: string, tone: Tone = 'good'): void {
  const id = ++lastId
  toasts.value = [...toasts.value, { id, text, tone }]
  setTimeout(() => {
    toasts.value = toasts.value.filter((toast) => toast.id !== id)
  }, SHOWN_MS)
}

/** Where toasts appear: once in the page. */
export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status">
      {toasts.value.map(({ id, text, tone }) => (
        <p key={id} class={`toast ${tone}`}>
          {text}
        </p>
      ))}
    </div>
  )
}
