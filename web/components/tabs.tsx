import type { ComponentChildren, JSX, TargetedKeyboardEvent } from 'preact'
import { useId } from 'preact/hooks'

export interface Tab {
  readonly id: string
  readonly title: string
}

export interface TabsProps {
  readonly label: string
  readonly tabs: readonly Tab[]
  readonly selected: string
  readonly onSelect: (id: string) => void
  /** Content of the selected tab. */
  readonly children: ComponentChildren
}

const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 }

/** Tabs pattern from the ARIA Authoring Practices. Arrow keys, Home and End move between tabs. */
export function Tabs({ label, tabs, selected, onSelect, children }: TabsProps): JSX.Element {
  const base = useId()
  const select = (event: TargetedKeyboardEvent<HTMLElement>): void => {
    const at = tabs.findIndex(({ id }) => id === selected)
    const step = STEPS[event.key]
    let next: number
    if (event.key === 'Home') next = 0
    else if (event.key === 'End') next = tabs.length - 1
    else if (step !== undefined) next = (at + step + tabs.length) % tabs.length
    else return
    event.preventDefault()
    onSelect(tabs[next]!.id)
    event.currentTarget.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus()
  }
  return (
    <div class="tabs">
      <div class="tab-list" role="tablist" aria-label={label} tabIndex={-1} onKeyDown={select}>
        {tabs.map(({ id, title }) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`${base}-${id}`}
            aria-selected={id === selected}
            aria-controls={`${base}-panel`}
            tabIndex={id === selected ? 0 : -1}
            onClick={() => onSelect(id)}
          >
            {title}
          </button>
        ))}
      </div>
      <div id={`${base}-panel`} role="tabpanel" aria-labelledby={`${base}-${selected}`}>
        {children}
      </div>
    </div>
  )
}
