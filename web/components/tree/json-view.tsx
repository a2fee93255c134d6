import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { formatJson } from '../../json/json-source.ts'
import { CopyButton } from '../copy-button.tsx'
import { formatBytes } from '../time/format.ts'
import { findOpen, MEMBERS } from './open-members.ts'

export interface JsonViewProps {
  readonly value: unknown
  /** Name of the downloaded file. @default response.json */
  readonly fileName?: string
  /** Number of levels expanded initially, unless they are too large. @default 3 */
  readonly open?: number
  /** Accessible name, unique on the page. @default JSON */
  readonly label?: string
}

/** Longer strings are truncated until expanded. */
const MAX_CHARACTERS = 2000

/** Foldable JSON with copy and download. Large values are rendered incrementally. */
export function JsonView({
  value,
  fileName = 'response.json',
  open = 3,
  label = 'JSON',
}: JsonViewProps): JSX.Element {
  const text = useMemo(() => formatJson(value), [value])
  const opened = useMemo(() => findOpen(value, open), [value, open])
  const download = (): void => {
    const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
    const link = document.createElement('a')
    link.href = url
    link.download = fileName
    link.click()
    setTimeout(() => URL.revokeObjectURL(url), 10_000)
  }
  return (
    <div class="json">
      <div class="json-actions">
        <span class="muted">{formatBytes(text.length)}</span>
        <CopyButton text={text} />
        <button type="button" class="quiet" onClick={download}>
          Download
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable elements must be reachable by keyboard (WCAG 2.1.1) */}
      <section class="json-scroll" aria-label={label} tabIndex={0}>
        <Value value={value} opened={opened} />
      </section>
    </div>
  )
}

interface ValueProps {
  readonly value: unknown
  /** Objects and lists that are expanded initially. */
  readonly opened: ReadonlySet<unknown>
}

function Value({ value, opened }: ValueProps): JSX.Element {
  if (typeof value === 'string') return <Text value={value} />
  if (typeof value !== 'object' || value === null)
    return <span class={value === null ? 'json-null' : `json-${typeof value}`}>{`${value}`}</span>
  return <Members value={value} opened={opened} />
}

function Members({
  value,
  opened,
}: ValueProps & {
  readonly value: object
}): JSX.Element {
  const isList = Array.isArray(value)
  const [isOpen, setOpen] = useState(opened.has(value))
  const [limit, setLimit] = useState(MEMBERS)
  const names = useMemo(() => Object.keys(value), [value])
  const [begin, end] = isList ? ['[', ']'] : ['{', '}']
  if (names.length === 0) return <span>{begin + end}</span>
  return (
    <>
      <button
        type="button"
        class="json-fold"
        aria-expanded={isOpen}
        aria-label={`${names.length} ${isList ? 'items' : 'members'}`}
        onClick={() => setOpen(!isOpen)}
      >
        {isOpen ? begin : `${begin} ${names.length} ${end}`}
      </button>
      {isOpen && (
        <>
          <ul class="json-members">
            {names.slice(0, limit).map((name) => (
              <li key={name}>
                {!isList && <span class="json-name">{JSON.stringify(name)}: </span>}
                <Value value={(value as Record<string, unknown>)[name]} opened={opened} />
              </li>
            ))}
            {names.length > limit && (
              <li>
                <button type="button" class="quiet" onClick={() => setLimit(limit + 10 * MEMBERS)}>
                  Show more ({names.length - limit} left)
                </button>
              </li>
            )}
          </ul>
          <span>{end}</span>
        </>
      )}
    </>
  )
}

function Text({ value }: { readonly value: string }): JSX.Element {
  const [all, setAll] = useState(false)
  const isLong = value.length > MAX_CHARACTERS && !all
  return (
    <span class="json-string">
      {JSON.stringify(isLong ? `${value.slice(0, MAX_CHARACTERS)}…` : value)}
      {isLong && (
        <button type="button" class="quiet" onClick={() => setAll(true)}>
          Show all {formatBytes(value.length)}
        </button>
      )}
    </span>
  )
}
