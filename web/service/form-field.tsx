import type { ComponentChildren, JSX } from 'preact'
import { formatKeyPath } from '../../sdk/schema/schema-error.ts'
import { Field as Labelled } from '../components/field.tsx'
import { boundsOf } from '../form/bounds.ts'
import {
  ABSENT,
  addPart,
  type Change,
  changePart,
  type Draft,
  movePart,
  openDraft,
  removePart,
  setDraft,
  withAlternative,
  withPart,
} from '../form/draft.ts'
import type { Field } from '../form/field.ts'
import { type Problem, ROOT } from '../form/to-request.ts'
import { Leaf } from './form-leaf.tsx'

export interface FormFieldProps {
  readonly field: Field
  readonly draft: Draft
  readonly onChange: (change: Change) => void
  /** Path within the request. */
  readonly keys: readonly PropertyKey[]
  readonly label: string
  readonly problems: readonly Problem[]
}

const LEAVES: ReadonlySet<string> = new Set([
  ...['boolean', 'bytes', 'choice', 'integer', 'json', 'number', 'text'],
])

/** Form for a request. */
export function FormFields(props: Omit<FormFieldProps, 'keys' | 'label'>): JSX.Element {
  const root = { keys: [], label: ROOT }
  if (props.field.kind !== 'object') return <FormField {...props} {...root} />
  if (props.field.parts.length === 0) return <p class="muted">The request has no fields.</p>
  return <Parts {...props} {...root} />
}

/** A field of any kind, including nested fields. */
function FormField(props: FormFieldProps): JSX.Element {
  const { field, draft, label, keys, problems } = props
  const path = formatKeyPath(ROOT, keys)
  const isOpenUnion = field.kind === 'union' && draft.presence === 'set'
  // Errors are shown at the selected alternative, which has the same path.
  const error = isOpenUnion ? undefined : problems.find((each) => each.path === path)?.message
  const help = describe(field)
  if (draft.presence !== 'null' && LEAVES.has(field.kind))
    return (
      <div class="form-field" data-path={path}>
        <Labelled label={label} help={help} error={error}>
          {(control) => <Leaf {...props} control={control} />}
        </Labelled>
        <Presence {...props} />
      </div>
    )
  return (
    <fieldset class="form-group" data-path={path}>
      <legend>{label}</legend>
      <p class="field-help">{help}</p>
      {error !== undefined && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
      {draft.presence === 'set' && <NestedFields {...props} />}
      <Presence {...props} />
    </fieldset>
  )
}

/** Buttons for adding or omitting the field, or for sending null or an empty string. */
function Presence({ field, draft, label, onChange }: FormFieldProps): JSX.Element | null {
  const { kind, isRequired, isNullable } = field
  const isLeaf = LEAVES.has(kind)
  const buttons: ComponentChildren[] = []
  const add = (text: string, label: string, next: Draft): void => {
    buttons.push(
      <button
        key={text}
        type="button"
        class={text === 'Add' ? undefined : 'quiet'}
        aria-label={label}
        onClick={() => onChange(() => next)}
      >
        {text}
      </button>,
    )
  }
  if (draft.presence === 'null')
    add('Not null', `Unset null for ${label}`, isLeaf ? ABSENT : openDraft(field))
  else {
    if (draft.presence === 'absent' && !isLeaf) add('Add', `Add ${label}`, openDraft(field))
    if (draft.presence === 'absent' && kind === 'text' && (field.schema.minLength ?? 0) === 0)
      add('Send empty', `Send empty ${label}`, setDraft('', []))
    if (draft.presence === 'set' && kind !== 'bytes' && kind !== 'choice' && kind !== 'boolean')
      if (!isRequired || field.default !== undefined || (kind === 'text' && draft.text === ''))
        add('Omit', `Omit ${label}`, ABSENT)
    if (isNullable) add('null', `Send ${label} as null`, { ...ABSENT, presence: 'null' })
  }
  const note =
    draft.presence === 'null'
      ? 'Sends null.'
      : draft.presence === 'set' && kind === 'text' && draft.text === ''
        ? 'Sends an empty string.'
        : ''
  if (buttons.length === 0 && note === '') return null
  return (
    <p class="form-presence">
      {note !== '' && <span class="muted">{note}</span>}
      {buttons}
    </p>
  )
}

function NestedFields(props: FormFieldProps): JSX.Element | null {
  switch (props.field.kind) {
    case 'object':
    case 'tuple':
      return <Parts {...props} />
    case 'list':
    case 'map':
      return <Items {...props} />
    case 'union':
      return <Alternatives {...props} />
    default:
      return null
  }
}

function Parts({ field, draft, onChange, keys, problems }: FormFieldProps): JSX.Element {
  return (
    <>
      {field.parts.map((part, i) => {
        const name = field.kind === 'tuple' ? i : part.name
        return (
          <FormField
            key={name}
            field={part}
            draft={draft.parts[i]?.draft ?? ABSENT}
            label={String(name)}
            keys={[...keys, name]}
            problems={problems}
            onChange={(change) => onChange(changePart(i, change))}
          />
        )
      })}
    </>
  )
}

/** Items of a list or entries of a map. */
function Items({ field, draft, onChange, keys, label, problems }: FormFieldProps): JSX.Element {
  const isMap = field.kind === 'map'
  return (
    <>
      <ol class="form-items">
        {draft.parts.map(({ id, key, draft: inner }, i) => {
          const name = isMap ? key : i
          const itemLabel = `${label} ${isMap && key !== '' ? key : i + 1}`
          return (
            <li key={id} class="form-item">
              {isMap && (
                <Labelled label={`Key ${i + 1} of ${label}`}>
                  {(control) => (
                    <input
                      {...control}
                      type="text"
                      autocomplete="off"
                      spellcheck={false}
                      value={key}
                      onInput={({ currentTarget: { value } }) =>
                        onChange((draft) => withPart(draft, id, { key: value }))
                      }
                    />
                  )}
                </Labelled>
              )}
              <FormField
                field={field.item!}
                draft={inner}
                label={itemLabel}
                keys={[...keys, name]}
                problems={problems}
                onChange={(change) => onChange(changePart(id, change))}
              />
              <p class="form-item-actions">
                {!isMap && i > 0 && (
                  <button
                    type="button"
                    class="quiet"
                    aria-label={`Move ${itemLabel} up`}
                    onClick={() => onChange((draft) => movePart(draft, id, -1))}
                  >
                    ↑
                  </button>
                )}
                <button
                  type="button"
                  class="quiet"
                  aria-label={`Remove ${itemLabel}`}
                  onClick={() => onChange((draft) => removePart(draft, id))}
                >
                  Remove
                </button>
              </p>
            </li>
          )
        })}
      </ol>
      <button
        type="button"
        class="form-add"
        onClick={() => onChange((draft) => addPart(draft, field))}
      >
        Add {isMap ? 'entry' : 'item'} to {label}
      </button>
    </>
  )
}

function Alternatives(props: FormFieldProps): JSX.Element {
  const { field, draft, label, onChange } = props
  const index = Number(draft.text)
  const part = field.parts[index]!
  return (
    <>
      <Labelled label={`Type of ${label}`}>
        {(control) => (
          <select
            {...control}
            value={draft.text}
            onChange={({ currentTarget: { value } }) =>
              onChange((draft) => withAlternative(draft, field, Number(value)))
            }
          >
            {field.parts.map((each, i) => (
              <option key={i} value={String(i)}>
                {each.schema.title ?? each.type}
              </option>
            ))}
          </select>
        )}
      </Labelled>
      <FormField
        {...props}
        field={part}
        draft={draft.parts[index]?.draft ?? ABSENT}
        label={part.schema.title ?? part.type}
        onChange={(change) => onChange(changePart(index, change))}
      />
    </>
  )
}

function describe(field: Field): string {
  const { type, isRequired, description } = field
  const must = isRequired && field.default === undefined
  return [must ? `${type}, required` : type, ...boundsOf(field), description]
    .filter((text) => text !== '')
    .join(' · ')
}
