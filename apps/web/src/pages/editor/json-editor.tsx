import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorState, StateEffect, StateField } from '@codemirror/state';
import {
  Decoration,
  type DecorationSet,
  EditorView,
  keymap,
  lineNumbers,
  WidgetType,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { Fault } from '@shardlab/contract';
import { type Ref, useEffect, useImperativeHandle, useRef } from 'react';
import { lineAt } from '../../model/json-excerpt.ts';
import type { SchemaNode } from '../../model/scenario-form.ts';
import { jsonCompletion } from './json-completion.ts';

export interface JsonEditorHandle {
  /** Moves to the value at a JSON pointer, or to a line of a text that is no JSON. */
  showPointer(pointer: string, line: number | undefined): void;
}

export interface JsonEditorProps {
  ref: Ref<JsonEditorHandle>;
  text: string;
  /** Schema of the whole document. */
  schema: SchemaNode;
  faults: readonly Fault[];
  /** Line at which the text stops being JSON. */
  line: number | undefined;
  onChange(text: string): void;
}

/** Shows the fault of a line under it. */
class FaultWidget extends WidgetType {
  readonly message: string;

  constructor(message: string) {
    super();
    this.message = message;
  }

  override eq(other: FaultWidget): boolean {
    return other.message === this.message;
  }

  override toDOM(): HTMLElement {
    const element = document.createElement('div');
    element.className = 'cm-fault';
    element.textContent = this.message;
    return element;
  }
}

const setFaults = StateEffect.define<DecorationSet>();
const faultField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(shown, transaction) {
    const moved = shown.map(transaction.changes);
    return transaction.effects.reduce((now, effect) => (effect.is(setFaults) ? effect.value : now), moved);
  },
  provide: (field) => EditorView.decorations.from(field),
});

function decorate(state: EditorState, faults: readonly Fault[], line: number | undefined): DecorationSet {
  const text = state.doc.toString();
  const ranges = faults.flatMap(({ path, message }) => {
    const number = Math.min(state.doc.lines, Math.max(1, line ?? lineAt(text, path) ?? 1));
    const { from, to } = state.doc.line(number);
    return [
      Decoration.line({ class: 'cm-fault-line' }).range(from),
      Decoration.widget({ widget: new FaultWidget(message), block: true, side: 1 }).range(to),
    ];
  });
  return Decoration.set(ranges, true);
}

const theme = EditorView.theme({
  '&': { fontSize: '0.8125rem', height: '100%', backgroundColor: 'var(--surface)', color: 'var(--ink)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground, .cm-content ::selection': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 25%, transparent)',
  },
  '.cm-gutters': { backgroundColor: 'var(--well)', color: 'var(--ink-3)', border: '0' },
  '.cm-fault-line': { backgroundColor: 'color-mix(in srgb, var(--bad) 14%, transparent)' },
  '.cm-fault': { color: 'var(--bad)', padding: '0 0.75rem 0.2rem', fontFamily: 'var(--sans)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--surface)',
    border: '1px solid var(--line-strong)',
    color: 'var(--ink)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--on-accent)',
  },
  '.cm-completionInfo': { maxWidth: '20rem' },
});

const colors = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--sharded)' },
  { tag: tags.string, color: 'var(--accent)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--unsharded)' },
]);

/**
 * A text editor for JSON. It is in a shadow tree, where its styles are style sheets of their own: the content policy of the
 * server permits no style elements in the page.
 */
export function JsonEditor({ ref, text, schema, faults, line, onChange }: JsonEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef({ text, schema, onChange });
  latest.current = { text, schema, onChange };
  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: 'open' });
    const created = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: latest.current.text,
        extensions: [
          lineNumbers(),
          history(),
          json(),
          bracketMatching(),
          closeBrackets(),
          autocompletion({ override: [jsonCompletion(() => latest.current.schema)] }),
          keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap]),
          faultField,
          syntaxHighlighting(colors),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({
            'aria-label': 'Scenario as JSON',
            spellcheck: 'false',
            // Reachable without one too, but not for every tool that asks.
            tabindex: '0',
          }),
          EditorView.updateListener.of(({ docChanged, state }) => {
            const now = state.doc.toString();
            if (docChanged && now !== latest.current.text) latest.current.onChange(now);
          }),
          theme,
        ],
      }),
    });
    view.current = created;
    return () => {
      created.destroy();
      view.current = null;
    };
  }, []);
  useEffect(() => {
    if (view.current !== null) replaceText(view.current, text);
  }, [text]);
  useEffect(() => {
    const now = view.current;
    now?.dispatch({ effects: setFaults.of(decorate(now.state, faults, line)) });
  }, [faults, line]);
  useImperativeHandle(ref, () => ({
    showPointer(pointer, at) {
      const now = view.current;
      if (now === null) return;
      const { doc } = now.state;
      const { from, to } = doc.line(
        Math.min(doc.lines, Math.max(1, at ?? lineAt(doc.toString(), pointer) ?? 1)),
      );
      now.dispatch({
        selection: { anchor: to },
        effects: EditorView.scrollIntoView(from, { y: 'center' }),
      });
      now.focus();
      host.current?.scrollIntoView({ block: 'nearest' });
    },
  }));
  return <div ref={host} className="json-editor" />;
}

/** Replaces only what differs, so that the cursor stays where it is. */
function replaceText(view: EditorView, text: string): void {
  const now = view.state.doc.toString();
  if (now === text) return;
  let start = 0;
  while (start < Math.min(now.length, text.length) && now[start] === text[start]) start++;
  let end = 0;
  while (
    end < Math.min(now.length, text.length) - start &&
    now[now.length - 1 - end] === text[text.length - 1 - end]
  )
    end++;
  view.dispatch({
    changes: { from: start, to: now.length - end, insert: text.slice(start, text.length - end) },
  });
}
