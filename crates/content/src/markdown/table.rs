//! Tables: as tables where they hold data, as blocks where they lay out a page.
//!
//! Owns the difference, and which column each cell is in. Invariant: every row of a table has as
//! many cells as its head, and a cell stands once, however many rows and columns it spans.

use super::Writer;
use crate::tag::NodeKind;
use crate::tree::NodeId;

/// Wider tables lay out something.
const MOST_COLUMNS: usize = 64;
/// The most rows that a cell spans (HTML, 4.9.11).
const MOST_ROWS: usize = 65_534;

/// The cells of a row as written.
#[derive(Debug, Default)]
struct Row {
    cells: Vec<NodeId>,
    is_head: bool,
    /// The part of the table that it is in, where cells that span rows end.
    part: usize,
}

/// A row with each cell in its column; what a cell spans beside its first place is empty.
#[derive(Debug, Default)]
struct LaidOut {
    cells: Vec<Option<NodeId>>,
    is_head: bool,
}

/// A cell that reaches into rows below.
#[derive(Debug, Clone, Copy, Default)]
struct Reach {
    rows: usize,
    part: usize,
}

impl Writer<'_, '_> {
    pub(super) fn table(&mut self, id: NodeId) {
        let mut rows = Vec::new();
        self.rows(id, 0, &mut rows);
        let (rows, columns) = self.laid_out(&rows);
        let is_data = (2..=MOST_COLUMNS).contains(&columns)
            && !self.selection.holds(id).table
            && !self.is_layout(id, &rows);
        if !is_data || self.sheet.place.inline {
            return self.block(id, |writer| writer.children(id));
        }
        self.captions(id);
        self.sheet.gap(2);
        let mut rows = rows.into_iter().peekable();
        let head = rows.next_if(|row| row.is_head).unwrap_or_default();
        self.row(&head.cells, columns);
        self.sheet.word(&format!("|{}", " --- |".repeat(columns)));
        self.sheet.gap(1);
        for row in rows {
            self.row(&row.cells, columns);
        }
        self.sheet.gap(2);
    }

    /// The rows of a table and of its parts; tables inside have been ruled out or are blocks.
    fn rows(&self, id: NodeId, part: usize, rows: &mut Vec<Row>) {
        for child in self.tree.children(id) {
            match self.tree.node(child).tag {
                _ if self.selection.is_dropped(child) => {}
                NodeKind::Thead | NodeKind::Tbody | NodeKind::Tfoot => {
                    self.rows(child, child.index(), rows);
                }
                NodeKind::Tr => rows.push(self.cells(child, part)),
                _ => {}
            }
        }
    }

    fn cells(&self, row: NodeId, part: usize) -> Row {
        let is_cell = |id: &NodeId| {
            let tag = self.tree.node(*id).tag;
            matches!(tag, NodeKind::Td | NodeKind::Th) && !self.selection.is_dropped(*id)
        };
        let cells: Vec<_> = self.tree.children(row).filter(is_cell).collect();
        let is_head = cells
            .iter()
            .all(|id| self.tree.node(*id).tag == NodeKind::Th);
        Row {
            cells,
            is_head,
            part,
        }
    }

    /// Puts cells into their columns (HTML, 4.9.12.1); answers how many columns there are. What
    /// is wider than a table of data may be is not laid out to its end.
    fn laid_out(&self, rows: &[Row]) -> (Vec<LaidOut>, usize) {
        let mut reaches = [Reach::default(); MOST_COLUMNS + 1];
        let mut columns = 0;
        let mut laid_out = Vec::with_capacity(rows.len());
        for row in rows {
            let mut places = vec![None; MOST_COLUMNS + 1];
            let mut column = 0;
            for &cell in &row.cells {
                let is_free = |reach: &Reach| reach.rows == 0 || reach.part != row.part;
                let free = reaches[column..].iter().position(is_free);
                let Some(free) = free else {
                    break;
                };
                column += free;
                places[column] = Some(cell);
                let (wide, rows) = (self.spanned(cell, "colspan"), self.spanned(cell, "rowspan"));
                let end = (column + wide.clamp(1, MOST_COLUMNS)).min(reaches.len());
                let rows = if rows == 0 { MOST_ROWS } else { rows };
                let part = row.part;
                reaches[column..end].fill(Reach { rows, part });
                column = end;
            }
            let is_taken = |reach: &Reach| reach.rows > 0 && reach.part == row.part;
            let width = reaches
                .iter()
                .rposition(is_taken)
                .map_or(0, |last| last + 1);
            columns = columns.max(width);
            places.truncate(width);
            laid_out.push(LaidOut {
                cells: places,
                is_head: row.is_head,
            });
            for reach in &mut reaches {
                reach.rows = reach.rows.saturating_sub(1);
            }
        }
        (laid_out, columns)
    }

    /// How many rows or columns a cell spans.
    fn spanned(&self, cell: NodeId, name: &str) -> usize {
        let attributes = self.tree.node(cell).attributes;
        if attributes.is_empty() {
            return 1;
        }
        let value = attributes.value(name);
        let span = value.and_then(|value| value.trim().parse().ok());
        span.map_or(1, |span: usize| span.min(MOST_ROWS))
    }

    /// Whether a table lays out a page: it says so, or one cell without words stands beside all of
    /// its rows, as the sign of a note does.
    fn is_layout(&self, id: NodeId, rows: &[LaidOut]) -> bool {
        let role = self.tree.node(id).attributes.value("role");
        let says_so = role.is_some_and(|role| matches!(role.trim(), "presentation" | "none"));
        let Some((first, rest)) = rows.split_first().filter(|(_, rest)| !rest.is_empty()) else {
            return says_so;
        };
        let beside_all = |(column, cell): (usize, &Option<NodeId>)| {
            let is_sign = |cell| self.spanned(cell, "rowspan") != 1 && self.is_wordless(cell);
            let is_empty = |row: &LaidOut| row.cells.get(column).is_some_and(Option::is_none);
            cell.is_some_and(is_sign) && rest.iter().all(is_empty)
        };
        says_so || first.cells.iter().enumerate().any(beside_all)
    }

    fn is_wordless(&self, id: NodeId) -> bool {
        let mut text = String::new();
        self.gather(id, &mut text);
        text.trim().is_empty()
    }

    fn captions(&mut self, id: NodeId) {
        let tree = self.tree;
        for child in tree.children(id) {
            if tree.node(child).tag == NodeKind::Caption {
                self.node(child);
            }
        }
    }

    fn row(&mut self, cells: &[Option<NodeId>], columns: usize) {
        self.sheet.word("|");
        for column in 0..columns {
            self.sheet.space();
            if let Some(Some(cell)) = cells.get(column) {
                self.sheet.place.cell = true;
                let captured = self.captured(*cell);
                self.sheet.place.cell = false;
                self.sheet.word(&captured.text);
                self.sheet.space();
            }
            self.sheet.word("|");
        }
        self.sheet.gap(1);
    }
}
