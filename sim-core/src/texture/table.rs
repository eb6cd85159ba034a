//! The objects of a device: what a handle stands for.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Image, Texture};

/// What a handle stands for.
#[derive(Clone, Debug)]
pub(crate) enum Object {
    Texture(Arc<Texture>),
    Surface(Arc<Image>),
}

/// A place of the table.
#[derive(Clone, Debug, Default)]
struct Place {
    /// How many objects were here before.
    generation: u32,
    object: Option<Object>,
}

/// The objects as a launch finds them. A handle is the number of a place, from 1 on, and in its upper half how many objects
/// were there before: looking one up is one access to a list, and the handle of an object that is gone finds nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    places: Vec<Place>,
}

/// What a handle finds.
pub(crate) enum Found<'a> {
    Object(&'a Object),
    /// It was destroyed.
    Destroyed,
    /// It never was one.
    Nothing,
}

impl Objects {
    pub(crate) fn find(&self, handle: u64) -> Found<'_> {
        let (number, generation) = (handle as u32, (handle >> 32) as u32);
        let place = (number as usize).checked_sub(1).and_then(|index| self.places.get(index));
        match place {
            Some(place) if place.generation == generation => match &place.object {
                Some(object) => Found::Object(object),
                None => Found::Nothing,
            },
            Some(place) if generation < place.generation => Found::Destroyed,
            _ => Found::Nothing,
        }
    }

    fn add(&mut self, object: Object) -> u64 {
        let free = self.places.iter().position(|place| place.object.is_none());
        let index = free.unwrap_or_else(|| {
            self.places.push(Place::default());
            self.places.len() - 1
        });
        let place = &mut self.places[index];
        place.object = Some(object);
        u64::from(place.generation) << 32 | (index as u64 + 1)
    }

    fn remove(&mut self, handle: u64) -> Option<Object> {
        let (number, generation) = (handle as u32, (handle >> 32) as u32);
        let place = self.places.get_mut((number as usize).checked_sub(1)?)?;
        if place.generation != generation {
            return None;
        }
        let object = place.object.take()?;
        place.generation = place.generation.wrapping_add(1);
        Some(object)
    }
}

/// The table of a device: changed by the host, captured by launches.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    objects: Mutex<Arc<Objects>>,
}

impl Tables {
    fn with<T>(&self, body: impl FnOnce(&mut Arc<Objects>) -> T) -> T {
        body(&mut self.objects.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// As a launch captures it.
    pub(crate) fn capture(&self) -> Arc<Objects> {
        self.with(|objects| objects.clone())
    }

    /// The handle of a new object.
    pub(crate) fn add(&self, object: Object) -> u64 {
        self.with(|objects| Arc::make_mut(objects).add(object))
    }

    /// Whether there was such an object, which now is gone.
    pub(crate) fn remove(&self, handle: u64) -> bool {
        self.with(|objects| Arc::make_mut(objects).remove(handle)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texture::{Channel, Format, Shape};

    fn surface() -> Object {
        let format = Format { channel: Channel::Float(4), channels: 1 };
        Object::Surface(Arc::new(Image { shape: Shape::TwoD, format, levels: Vec::new(), opaque: true }))
    }

    #[test]
    fn a_handle_finds_its_own_object_only() {
        let tables = Tables::default();
        let (a, b) = (tables.add(surface()), tables.add(surface()));
        assert_eq!((a, b), (1, 2));
        let before = tables.capture();
        assert!(tables.remove(a) && !tables.remove(a) && !tables.remove(0) && !tables.remove(99));
        let again = tables.add(surface());
        assert_eq!(again, 1 << 32 | 1, "the place comes again, the handle does not");
        let now = tables.capture();
        assert!(matches!(now.find(a), Found::Destroyed) && matches!(now.find(again), Found::Object(_)));
        assert!(matches!(before.find(a), Found::Object(_)), "a launch keeps what it captured");
        for other in [0, 3, 7 << 32 | 1, u64::MAX] {
            assert!(matches!(now.find(other), Found::Nothing), "{other:#x}");
        }
    }
}
