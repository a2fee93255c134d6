import type { JSX } from 'preact'
import { useId } from 'preact/hooks'

export interface SearchProps {
  readonly value: string
  readonly onInput: (value: string) => void
  readonly label: string
  readonly placeholder?: string
  /** Number of results, announced to screen readers. */
  readonly count?: number
}

/** Search input that filters a page. */
export function Search({ value, onInput, label, placeholder, count }: SearchProps): JSX.Element {
  const id = useId()
  return (
    <search class="search">
      <label class="visually-hidden" for={id}>
        {label}
      </label>
      <input
        id={id}
        type="search"
        value={value}
        placeholder={placeholder ?? label}
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      {count !== undefined && (
        <span class="visually-hidden" role="status">
          {value === '' ? '' : `${count} results`}
        </span>
      )}
    </search>
  )
}
